package main

import (
	"fmt"
	"strconv"
	"strings"
)

// All nodes, by the order of their starts. A node is named by its index or its address.
type store struct {
	nodes     []*node
	zookeeper *zooKeeper // nil = none
}

func (s *store) start() (int, error) {
	n, err := newNode()
	if err != nil {
		return 0, err
	}
	s.nodes = append(s.nodes, n)
	return len(s.nodes) - 1, nil
}

func (s *store) stop() {
	for _, n := range s.nodes {
		if n.front != nil {
			n.kill()
		}
	}
	if s.zookeeper != nil {
		s.zookeeper.stop()
	}
}

func (s *store) addresses() string {
	var all []string
	for _, n := range s.nodes {
		all = append(all, n.address())
	}
	return strings.Join(all, ",")
}

func (s *store) find(name string) (*node, error) {
	if index, err := strconv.Atoi(name); err == nil && index >= 0 && index < len(s.nodes) {
		return s.nodes[index], nil
	}
	for _, n := range s.nodes {
		if n.address() == name {
			return n, nil
		}
	}
	return nil, fmt.Errorf("no node %s", name)
}
