package main

import (
	"bufio"
	"context"
	"encoding/hex"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// The range directory behind its publisher's back, and the oracle. META1 is the node where meta1 is.
func addDirectoryCommands(all *commands, world *store) {
	all.add("descriptor ID GENERATION START END NODE...", 5, func(_ context.Context,
		words []string, _ *answer) (string, error) {
		d, err := world.parseDescriptor(words)
		if err != nil {
			return "", err
		}
		return hex.EncodeToString(d.encode()), nil
	})
	all.add("put-descriptor NODE TABLE LEVEL ID GENERATION START END NODE...", 8,
		world.putDescriptor)
	all.add("directory META1", 1, func(ctx context.Context, words []string,
		answer *answer) (string, error) {
		meta2, users, err := world.readDirectory(ctx, words[0])
		for _, d := range meta2 {
			answer.line(append([]string{"meta2"}, describe(d)...)...)
		}
		for _, d := range users {
			answer.line(append([]string{"map"}, describe(d)...)...)
		}
		return fmt.Sprintf("%d %d", len(meta2), len(users)), err
	})
	all.add("oracle META1 ROW...", 2, func(ctx context.Context, words []string,
		answer *answer) (string, error) {
		return world.oracle(ctx, words[0], words[1:], func(fields []string) {
			answer.line(fields...)
		})
	})
	all.add("oracle-file META1 FILE", 2, world.oracleFile)
}

func (s *store) parseDescriptor(words []string) (*descriptor, error) {
	d := &descriptor{}
	var err error
	if d.id, err = strconv.ParseUint(words[0], 10, 64); err != nil {
		return nil, err
	}
	if d.generation, err = strconv.ParseUint(words[1], 10, 64); err != nil {
		return nil, err
	}
	if d.start, err = parseKey(words[2]); err != nil {
		return nil, err
	}
	if d.end, err = parseKey(words[3]); err != nil {
		return nil, err
	}
	for _, name := range words[4:] {
		n, err := s.find(name)
		if err != nil {
			return nil, err
		}
		d.replicas = append(d.replicas, replica{s.nodeID(n), "127.0.0.1", uint64(n.port)})
	}
	return d, nil
}

// Node ids count from 1.
func (s *store) nodeID(wanted *node) uint64 {
	for i, n := range s.nodes {
		if n == wanted {
			return uint64(i) + 1
		}
	}
	return 0
}

// LEVEL is "meta2" for a row of meta1, which describes a range of meta2, and "map" for one of meta2.
func (s *store) putDescriptor(ctx context.Context, words []string, answer *answer) (string, error) {
	d, err := s.parseDescriptor(words[3:])
	if err != nil {
		return "", err
	}
	level, known := map[string]string{"meta2": meta2Level, "map": mapLevel}[words[2]]
	if !known {
		return "", fmt.Errorf("no level %s", words[2])
	}
	return "", s.putIndexRow(ctx, words[:2], level+d.start, d)
}

// id, generation, start key, end key, host, port of the leaseholder
func describe(d *descriptor) []string {
	return []string{d.table(), strconv.FormatUint(d.generation, 10), formatKey(d.start),
		formatKey(d.end), d.replicas[0].host, strconv.FormatUint(d.replicas[0].port, 10)}
}

// Says of each row where it is, and reads it there.
func (s *store) oracle(ctx context.Context, meta1 string, rows []string,
	tell func(fields []string)) (string, error) {
	_, users, err := s.readDirectory(ctx, meta1)
	if err != nil {
		return "", err
	}
	for _, text := range rows {
		row, err := parseKey(text)
		if err != nil {
			return "", err
		}
		found := findRange(users, row)
		if found == nil {
			tell([]string{formatKey(row), "ERROR", "no range"})
			continue
		}
		value, exists, err := s.readValue(ctx, found, row)
		if err != nil {
			return "", fmt.Errorf("row %s in %s: %w", formatKey(row), found.table(), err)
		}
		fields := append([]string{formatKey(row)}, describe(found)...)
		if exists {
			fields = append(fields, formatKey(value))
		}
		tell(fields)
	}
	return strconv.Itoa(len(rows)), nil
}

// The same for a file of rows, one a line; the answers go to FILE.out.
func (s *store) oracleFile(ctx context.Context, words []string, _ *answer) (string, error) {
	content, err := os.ReadFile(words[1])
	if err != nil {
		return "", err
	}
	file, err := os.Create(words[1] + ".out")
	if err != nil {
		return "", err
	}
	defer file.Close()
	out := bufio.NewWriter(file)
	rows := strings.Split(strings.TrimSuffix(string(content), "\n"), "\n")
	text, err := s.oracle(ctx, words[0], rows, func(fields []string) {
		fmt.Fprintln(out, strings.Join(fields, "\t"))
	})
	if err == nil {
		err = out.Flush()
	}
	return text, err
}
