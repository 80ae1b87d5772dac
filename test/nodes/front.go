package main

import (
	"fmt"
	"io"
	"net"
	"os"
)

// A front is what clients meet of a node: the process that listens on the node's port. It hands every
// connection's bytes to the emulator and back, and looks at none of them. SIGKILL ends its
// connections and its listening as it would end a server's, SIGSTOP makes a server that hangs, and
// the tables stay, as they would on a disk.

const frontFlag = "--front"

// Become the front of the emulator at target; ends with the standard input.
func runFront(port, target string) {
	listener, err := net.Listen("tcp4", "127.0.0.1:"+port)
	if err != nil {
		fmt.Fprintln(os.Stderr, "nodes: front:", err)
		os.Exit(1)
	}
	go acceptAll(listener, target)
	fmt.Println("listening")
	io.Copy(io.Discard, os.Stdin)
	os.Exit(0)
}

func acceptAll(listener net.Listener, target string) {
	for {
		client, err := listener.Accept()
		if err != nil {
			fmt.Fprintln(os.Stderr, "nodes: front:", err)
			os.Exit(1)
		}
		go relay(client, target)
	}
}

// Both directions end when one does.
func relay(client net.Conn, target string) {
	defer client.Close()
	server, err := net.Dial("tcp4", target)
	if err != nil {
		return
	}
	go func() {
		io.Copy(server, client)
		server.Close()
	}()
	io.Copy(client, server)
}
