package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// A real ZooKeeper beside the nodes, for scripts; C tests have their own (test/zookeeper.h). A process
// of its own, with its data in a temporary folder.
type zooKeeper struct {
	port    int
	folder  string
	process *exec.Cmd
}

const zooKeeperPatience = 60 * time.Second

func (s *store) startZooKeeper(classPath string) error {
	port, err := reservePort()
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "keyroute-zookeeper-")
	if err != nil {
		return err
	}
	s.zookeeper = &zooKeeper{port: port, folder: folder}
	return s.zookeeper.run(classPath)
}

func (z *zooKeeper) run(classPath string) error {
	settings := filepath.Join(z.folder, "zoo.cfg")
	text := fmt.Sprintf("tickTime=500\ndataDir=%s\nclientPortAddress=127.0.0.1\nclientPort=%d\n"+
		"admin.enableServer=false\n4lw.commands.whitelist=isro\n", z.folder, z.port)
	if err := os.WriteFile(settings, []byte(text), 0o600); err != nil {
		return err
	}
	log, err := os.Create(filepath.Join(z.folder, "log"))
	if err != nil {
		return err
	}
	defer log.Close()
	z.process = exec.Command("java", "-Xmx96m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
		"-Dzookeeper.forceSync=no", "-cp", classPath,
		"org.apache.zookeeper.server.ZooKeeperServerMain", settings)
	z.process.Stdout, z.process.Stderr = log, log
	z.process.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := z.process.Start(); err != nil {
		return err
	}
	for end := time.Now().Add(zooKeeperPatience); !z.serves(); {
		if time.Now().After(end) {
			return fmt.Errorf("ZooKeeper does not serve within %s", zooKeeperPatience)
		}
		time.Sleep(50 * time.Millisecond)
	}
	return nil
}

// One that serves answers "isro" with "rw".
func (z *zooKeeper) serves() bool {
	conn, err := net.Dial("tcp4", z.address())
	if err != nil {
		return false
	}
	defer conn.Close()
	io.WriteString(conn, "isro")
	conn.SetReadDeadline(time.Now().Add(5 * time.Second))
	answer, _ := io.ReadAll(conn)
	return string(answer) == "rw"
}

func (z *zooKeeper) stop() {
	if z.process != nil && z.process.Process != nil {
		z.process.Process.Kill()
		z.process.Wait()
	}
	os.RemoveAll(z.folder)
}

func (z *zooKeeper) address() string {
	return fmt.Sprintf("127.0.0.1:%d", z.port)
}
