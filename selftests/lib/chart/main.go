// SPDX-License-Identifier: GPL-2.0-only

// Renders a Helm chart as Helm does, by text/template and sprig, since Debian has no helm; or prints objects in one
// form, so that two renderings can be compared: a line of JSON each, sorted.
//
//	chart render CHART KUBE-VERSION [PATH=YAML...]    prints the chart's objects; values by their paths
//	chart objects                                     standard input to lines
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig"
	"gopkg.in/yaml.v3"
)

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "chart:", err)
		os.Exit(1)
	}
}

func readYAML(path string) map[string]interface{} {
	into := map[string]interface{}{}
	text, err := os.ReadFile(path)
	fail(err)
	fail(yaml.Unmarshal(text, &into))
	return into
}

func set(values map[string]interface{}, path string, value interface{}) {
	parts := strings.Split(path, ".")
	for _, part := range parts[:len(parts)-1] {
		next, known := values[part].(map[string]interface{})
		if !known {
			fail(fmt.Errorf("no value %s", path))
		}
		values = next
	}
	if _, known := values[parts[len(parts)-1]]; !known {
		fail(fmt.Errorf("no value %s", path))
	}
	values[parts[len(parts)-1]] = value
}

func render(chart, kube string, settings []string) {
	meta := readYAML(filepath.Join(chart, "Chart.yaml"))
	values := readYAML(filepath.Join(chart, "values.yaml"))
	for _, setting := range settings {
		path, text, _ := strings.Cut(setting, "=")
		var value interface{}
		fail(yaml.Unmarshal([]byte(text), &value))
		set(values, path, value)
	}
	// Helm hands on the keys of Chart.yaml with a capital letter.
	described := map[string]interface{}{}
	for key, value := range meta {
		described[strings.ToUpper(key[:1])+key[1:]] = value
	}
	data := map[string]interface{}{
		"Values":       values,
		"Chart":        described,
		"Release":      map[string]interface{}{"Name": "bulkhead", "Namespace": "default", "Service": "Helm"},
		"Capabilities": map[string]interface{}{"KubeVersion": map[string]interface{}{"Version": kube}},
	}
	functions := sprig.TxtFuncMap()
	functions["toYaml"] = func(value interface{}) (string, error) {
		text, err := yaml.Marshal(value)
		return strings.TrimSuffix(string(text), "\n"), err
	}
	files, err := filepath.Glob(filepath.Join(chart, "templates", "*.yaml"))
	fail(err)
	sort.Strings(files)
	for _, file := range files {
		text, err := os.ReadFile(file)
		fail(err)
		parsed, err := template.New(file).Option("missingkey=error").Funcs(functions).Parse(string(text))
		fail(err)
		fmt.Println("---")
		fail(parsed.Execute(os.Stdout, data))
	}
}

func objects() {
	var lines []string
	decoder := yaml.NewDecoder(os.Stdin)
	for {
		var object interface{}
		err := decoder.Decode(&object)
		if err == io.EOF {
			break
		}
		fail(err)
		if object == nil {
			continue
		}
		line, err := json.Marshal(object)
		fail(err)
		lines = append(lines, string(line))
	}
	sort.Strings(lines)
	for _, line := range lines {
		fmt.Println(line)
	}
}

func main() {
	switch {
	case len(os.Args) >= 4 && os.Args[1] == "render":
		render(os.Args[2], os.Args[3], os.Args[4:])
	case len(os.Args) == 2 && os.Args[1] == "objects":
		objects()
	default:
		fail(fmt.Errorf("usage: chart render CHART KUBE-VERSION [PATH=YAML...] | chart objects"))
	}
}
