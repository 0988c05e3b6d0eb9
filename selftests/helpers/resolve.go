// SPDX-License-Identifier: GPL-2.0-only

// The helper `resolve` in Go: by Go's own resolver, which reads /etc/resolv.conf itself.
//
//	resolve NAME PORT WAIT [4|6]
package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"
)

func connect(address net.IP, port string, wait time.Duration) string {
	connection, err := net.DialTimeout("tcp", net.JoinHostPort(address.String(), port), wait)
	var timeout net.Error
	switch {
	case err == nil:
		connection.Close()
		return "ok"
	case errors.As(err, &timeout) && timeout.Timeout() && !errors.Is(err, syscall.ECONNREFUSED):
		return "silent"
	}
	return "refused"
}

func main() {
	if len(os.Args) < 4 {
		fmt.Fprintln(os.Stderr, "usage: resolve NAME PORT WAIT [4|6]")
		os.Exit(2)
	}
	network := "ip"
	if len(os.Args) > 4 {
		network += os.Args[4]
	}
	wait, _ := strconv.Atoi(os.Args[3])
	resolver := net.Resolver{PreferGo: true}
	addresses, err := resolver.LookupIP(context.Background(), network, os.Args[1])
	if err != nil {
		fmt.Println("unknown")
		os.Exit(1)
	}
	results := make([]string, len(addresses))
	var all sync.WaitGroup
	for i := range addresses {
		all.Add(1)
		go func(i int) {
			defer all.Done()
			results[i] = connect(addresses[i], os.Args[2], time.Duration(wait)*time.Millisecond)
		}(i)
	}
	all.Wait()
	for i, address := range addresses {
		fmt.Println(address, results[i])
	}
}
