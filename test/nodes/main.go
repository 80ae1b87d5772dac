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
	"os/signal"
	"runtime"
	"strings"
	"syscall"
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
	jars := flag.String("zookeeper", "", "start a ZooKeeper, too, from the jars of this `CLASSPATH`")
	flag.Parse()
	if flag.NArg() > 0 || *count < 1 {
		flag.Usage()
		os.Exit(2)
	}
	world := &store{}
	endOnSignals(world)
	for i := 0; i < *count; i++ {
		if _, err := world.start(); err != nil {
			world.fail(err)
		}
	}
	fields := fmt.Sprintf("nodes=%s instance=%s", world.addresses(), instanceName)
	if *jars != "" {
		if err := world.startZooKeeper(*jars); err != nil {
			world.fail(err)
		}
		fields += " zookeeper=" + world.zookeeper.address()
	}
	fmt.Printf("READY %s pid=%d\n", fields, os.Getpid())
	serve(newCommands(world))
	world.stop()
}

func (s *store) fail(err error) {
	fmt.Fprintln(os.Stderr, "nodes:", err)
	s.stop()
	os.Exit(1)
}

// What is in a temporary folder goes when the program is told to end, too.
func endOnSignals(world *store) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	go func() {
		<-signals
		world.stop()
		os.Exit(1)
	}()
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
