// A store of real Bigtable nodes for tests: starts N nodes on loopback, prints one READY line, takes
// commands on standard input and disappears without a trace when its input ends. README.md has the
// commands.
//
// What a client meets is a front: a process of its own that owns the node's port and hands bytes on
// to the node's Bigtable emulator, which lives in this process (see front.go). So a kill is a real
// one, a restarted node still has its tables, and what is on a dead node can be read all the same.
package main

import (
	"bufio"
	"flag"
	"fmt"
	"os"
	"runtime"
	"strings"
)

// Children are told to die with the thread that started them (node.go), so that has to be one which
// lives as long as the process.
func init() {
	runtime.LockOSThread()
}

func main() {
	if len(os.Args) == 4 && os.Args[1] == frontFlag {
		runFront(os.Args[2], os.Args[3])
	}
	count := flag.Int("nodes", 3, "how many `NODES` to start")
	flag.Parse()
	if flag.NArg() > 0 || *count < 1 {
		flag.Usage()
		os.Exit(2)
	}
	world := &store{}
	for i := 0; i < *count; i++ {
		if _, err := world.start(); err != nil {
			fmt.Fprintln(os.Stderr, "nodes:", err)
			os.Exit(1)
		}
	}
	fmt.Printf("READY nodes=%s instance=%s pid=%d\n", world.addresses(), instanceName, os.Getpid())
	serve(newCommands(world))
	world.stop()
}

// Carry out commands until "quit" or the end of input.
func serve(known *commands) {
	input := bufio.NewReader(os.Stdin)
	for {
		line, err := input.ReadString('\n')
		if words := strings.Fields(line); len(words) > 0 {
			known.execute(words, os.Stdout)
			if words[0] == "quit" {
				return
			}
		}
		if err != nil {
			return
		}
	}
}
