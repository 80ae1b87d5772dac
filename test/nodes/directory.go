package main

import (
	"context"
	"fmt"
	"strings"

	"cloud.google.com/go/bigtable"
)

// The range directory as one who reads all of it sees it: meta1, then every range of meta2, then what
// each says about ranges of map. Nothing is looked for: it is simple enough to be believed.

const (
	indexFamily = "r"
	indexColumn = "r:d"
	meta2Level  = "\x01" // of rows in meta1
	mapLevel    = "\x02" // of rows in meta2
	meta1Table  = "r1"
)

// The descriptors that a table of the index holds for a level, in the order of their rows.
func readIndex(ctx context.Context, table *bigtable.Table, level string) ([]*descriptor, error) {
	var found []*descriptor
	var wrong error
	err := table.ReadRows(ctx, bigtable.PrefixRange(level), func(row bigtable.Row) bool {
		for _, item := range row[indexFamily] {
			if item.Column != indexColumn {
				continue
			}
			d, err := decodeDescriptor(item.Value)
			if err == nil && level+d.start != row.Key() {
				err = fmt.Errorf("the start is %s", formatKey(d.start))
			}
			if err != nil {
				wrong = fmt.Errorf("index row %s: %w", formatKey(row.Key()), err)
				return false
			}
			found = append(found, d)
			break // the newest version comes first
		}
		return true
	})
	if err == nil {
		err = wrong
	}
	return found, err
}

// All ranges of meta2, and of map, that the directory names whose meta1 is on that node.
func (s *store) readDirectory(ctx context.Context, meta1 string) (meta2, users []*descriptor,
	err error) {
	root, err := s.find(meta1)
	if err != nil {
		return nil, nil, err
	}
	if meta2, err = readIndex(ctx, root.client.Open(meta1Table), meta2Level); err != nil {
		return nil, nil, err
	}
	for _, parent := range meta2 {
		n, err := s.find(parent.address())
		if err != nil {
			return nil, nil, err
		}
		below, err := readIndex(ctx, n.client.Open(parent.table()), mapLevel)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", parent.table(), err)
		}
		for _, d := range below {
			if parent.covers(mapLevel + d.start) {
				users = append(users, d)
			}
		}
	}
	return meta2, users, nil
}

// Write a descriptor into a row of the index; words are NODE TABLE.
func (s *store) putIndexRow(ctx context.Context, words []string, row string, d *descriptor) error {
	table, err := s.table(words)
	if err != nil {
		return err
	}
	change := bigtable.NewMutation()
	change.Set(indexFamily, "d", bigtable.Now().TruncateToMilliseconds(), d.encode())
	return table.Apply(ctx, row, change)
}

// The range that holds a row: of those that say so, the one with the largest generation.
func findRange(ranges []*descriptor, row string) *descriptor {
	var best *descriptor
	for _, d := range ranges {
		if d.covers(row) && (best == nil || d.generation > best.generation) {
			best = d
		}
	}
	return best
}

// A row's value in f:q, and whether it has one.
func (s *store) readValue(ctx context.Context, d *descriptor, row string) (string, bool, error) {
	n, err := s.find(d.address())
	if err != nil || row == "" {
		return "", false, err
	}
	read, err := n.client.Open(d.table()).ReadRow(ctx, row)
	if err != nil {
		return "", false, err
	}
	for _, item := range read[userFamily] {
		if strings.TrimPrefix(item.Column, userFamily+":") == "q" {
			return string(item.Value), true, nil
		}
	}
	return "", false, nil
}
