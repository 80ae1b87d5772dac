package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"
)

// The command language: one line a command, words divided by spaces; data lines of an answer begin
// with ". ", and its last line is "OK ..." or "ERR reason". What the commands do is said in the files
// named ..._commands.go, which register them.

const commandTimeout = 120 * time.Second

// Does one command: writes data lines to the answer and returns the text after OK.
type action func(ctx context.Context, words []string, answer *answer) (string, error)

// Takes the data lines of one answer.
type answer struct {
	out io.Writer
}

func (a *answer) line(fields ...string) {
	fmt.Fprintln(a.out, ". "+strings.Join(fields, "\t"))
}

type command struct {
	usage  string // the name, then its arguments
	fewest int    // words it needs after the name
	action action
}

type commands struct {
	named map[string]command
	order []string
}

func newCommands(world *store) *commands {
	all := &commands{named: map[string]command{}}
	all.add("help", 0, func(_ context.Context, _ []string, answer *answer) (string, error) {
		for _, name := range all.order {
			answer.line(all.named[name].usage)
		}
		return "", nil
	})
	all.add("quit", 0, func(context.Context, []string, *answer) (string, error) {
		return "bye", nil
	})
	addNodeCommands(all, world)
	addTableCommands(all, world)
	addRowCommands(all, world)
	addDirectoryCommands(all, world)
	return all
}

func (c *commands) add(usage string, fewest int, action action) {
	name := strings.Fields(usage)[0]
	c.named[name] = command{usage, fewest, action}
	c.order = append(c.order, name)
}

func (c *commands) execute(words []string, out io.Writer) {
	found, known := c.named[words[0]]
	if !known {
		fmt.Fprintf(out, "ERR unknown command %s; try help\n", words[0])
		return
	}
	if len(words)-1 < found.fewest {
		fmt.Fprintf(out, "ERR usage: %s\n", found.usage)
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), commandTimeout)
	defer cancel()
	text, err := found.action(ctx, words[1:], &answer{out})
	if err != nil {
		fmt.Fprintln(out, "ERR "+strings.ReplaceAll(err.Error(), "\n", " "))
		return
	}
	fmt.Fprintln(out, strings.TrimSpace("OK "+text))
}
