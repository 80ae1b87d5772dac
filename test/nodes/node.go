package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"cloud.google.com/go/bigtable"
	"cloud.google.com/go/bigtable/bttest"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

const (
	projectID    = "keyroute"
	instanceID   = "keyroute"
	instanceName = "projects/" + projectID + "/instances/" + instanceID
	messageMax   = 256 << 20 // as the emulator's own command has it
)

// A node: an emulator, the front that clients meet, and Bigtable's own Go client, which goes straight
// to the emulator.
type node struct {
	port     int
	emulator *bttest.Server
	client   *bigtable.Client
	admin    *bigtable.AdminClient
	front    *exec.Cmd // nil while it is dead
	input    io.Closer // the front's, which ends with it
	frozen   bool
}

func newNode() (*node, error) {
	port, err := reservePort()
	if err != nil {
		return nil, err
	}
	emulator, err := bttest.NewServer("127.0.0.1:0", grpc.MaxRecvMsgSize(messageMax),
		grpc.MaxSendMsgSize(messageMax))
	if err != nil {
		return nil, err
	}
	n := &node{port: port, emulator: emulator}
	if err := n.connect(); err != nil {
		return nil, err
	}
	return n, n.raise()
}

func (n *node) connect() error {
	conn, err := grpc.Dial(n.emulator.Addr, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(messageMax)))
	if err != nil {
		return err
	}
	ctx, use := context.Background(), option.WithGRPCConn(conn)
	if n.client, err = bigtable.NewClient(ctx, projectID, instanceID, use); err != nil {
		return err
	}
	n.admin, err = bigtable.NewAdminClient(ctx, projectID, instanceID, use)
	return err
}

// Start the front; returns when it listens.
func (n *node) raise() error {
	if n.front != nil {
		return fmt.Errorf("the node of port %d is up", n.port)
	}
	program, err := os.Executable()
	if err != nil {
		return err
	}
	front := exec.Command(program, frontFlag, strconv.Itoa(n.port), n.emulator.Addr)
	front.Stderr = os.Stderr
	front.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	input, err := front.StdinPipe()
	if err != nil {
		return err
	}
	output, err := front.StdoutPipe()
	if err != nil {
		return err
	}
	if err := front.Start(); err != nil {
		return err
	}
	if _, err := bufio.NewReader(output).ReadString('\n'); err != nil {
		front.Wait()
		return fmt.Errorf("the front of port %d does not listen", n.port)
	}
	n.front, n.input, n.frozen = front, input, false
	return nil
}

// Kill the front with SIGKILL; returns when it is gone.
func (n *node) kill() error {
	if n.front == nil {
		return fmt.Errorf("the node of port %d is dead", n.port)
	}
	n.front.Process.Kill()
	n.front.Wait()
	n.input.Close()
	n.front = nil
	return nil
}

func (n *node) signal(signal syscall.Signal) error {
	if n.front == nil {
		return fmt.Errorf("the node of port %d is dead", n.port)
	}
	if err := n.front.Process.Signal(signal); err != nil {
		return err
	}
	n.frozen = signal == syscall.SIGSTOP
	if n.frozen {
		return awaitStopped(n.front.Process.Pid)
	}
	return nil
}

// Wait until each thread of a process that was sent SIGSTOP has stopped: on a busy machine one may
// go on for a while.
func awaitStopped(pid int) error {
	for tries := 0; tries < 1000; tries++ {
		if allStopped(pid) {
			return nil
		}
		time.Sleep(10 * time.Millisecond)
	}
	return fmt.Errorf("process %d does not stop", pid)
}

func allStopped(pid int) bool {
	stats, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	if err != nil || len(stats) == 0 {
		return false
	}
	for _, path := range stats {
		stat, err := os.ReadFile(path)
		// The state is the word behind the name, which is in parentheses.
		if err != nil || !strings.Contains(string(stat), ") T ") {
			return false
		}
	}
	return true
}

func (n *node) address() string {
	return fmt.Sprintf("127.0.0.1:%d", n.port)
}

func (n *node) state() string {
	switch {
	case n.front == nil:
		return "dead"
	case n.frozen:
		return "frozen"
	default:
		return "up"
	}
}
