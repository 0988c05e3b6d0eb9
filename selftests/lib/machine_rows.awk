# SPDX-License-Identifier: GPL-2.0-only
# Reports the subtests of what selftests/run printed in an emulated machine, each with its test's name before it. `tests`
# are the names of all tests; one that did not run has failed. Exits as they ended.
function result(how, name) {
	failed = failed || how != "ok"
	print how " " ++number " - " name
	fflush()
}

/^# Subtest: / { test = $3; bad = skipped = 0; why = ""; next }
/^    +(not )?ok [0-9]+/ {
	how = $1 == "ok" ? "ok" : "not ok"
	bad += how != "ok"
	skipped += / # SKIP/
	sub(/^ +(not )?ok [0-9]+( - )?/, "")
	result(how, test ": " $0)
	next
}
/^    1\.\.0 # SKIP / { why = substr($0, 17); next }
/^(not )?ok / { ended[test] = 1 }
/^not ok / && !bad { sub(/^not ok [0-9]+ - /, ""); result("not ok", $0) }
/^ok .*# SKIP/ && !skipped { result("ok", test " # SKIP " why) }
/^    / { print "# " substr($0, 5) }
/^# [0-9]|^tools\/vm: / { print }
END {
	count = split(tests, names, " ")
	for (i = 1; i <= count; i++)
		if (!ended[names[i]])
			result("not ok", names[i] ": the machine ended before it")
	exit failed
}
