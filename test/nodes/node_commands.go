package main

import (
	"context"
	"fmt"
	"strconv"
	"syscall"
)

// Starting nodes and ending them.
func addNodeCommands(all *commands, world *store) {
	all.add("nodes", 0, func(_ context.Context, _ []string, answer *answer) (string, error) {
		for i, n := range world.nodes {
			answer.line(strconv.Itoa(i), n.address(), n.state())
		}
		return strconv.Itoa(len(world.nodes)), nil
	})
	all.add("start", 0, func(context.Context, []string, *answer) (string, error) {
		index, err := world.start()
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("%d %s", index, world.nodes[index].address()), nil
	})
	each := func(usage string, does func(n *node) error) {
		all.add(usage, 1, func(_ context.Context, words []string, _ *answer) (string, error) {
			n, err := world.find(words[0])
			if err != nil {
				return "", err
			}
			return "", does(n)
		})
	}
	each("kill NODE", (*node).kill)
	each("restart NODE", (*node).raise)
	each("freeze NODE", func(n *node) error { return n.signal(syscall.SIGSTOP) })
	each("thaw NODE", func(n *node) error { return n.signal(syscall.SIGCONT) })
}
