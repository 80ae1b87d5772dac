package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"cloud.google.com/go/bigtable"
)

const bulkMax = 1000 // rows of one request

// Writing rows, reading them back and copying them, with Bigtable's own client.
func addRowCommands(all *commands, world *store) {
	all.add("put NODE TABLE ROW VALUE [FAMILY:QUALIFIER]", 4, func(ctx context.Context,
		words []string, _ *answer) (string, error) {
		table, row, err := world.row(words)
		if err != nil {
			return "", err
		}
		value, err := parseKey(words[3])
		if err != nil {
			return "", err
		}
		column := userFamily + ":q"
		if len(words) > 4 {
			column = words[4]
		}
		family, qualifier, _ := strings.Cut(column, ":")
		change := bigtable.NewMutation()
		change.Set(family, qualifier, bigtable.Now().TruncateToMilliseconds(), []byte(value))
		return "", table.Apply(ctx, row, change)
	})
	all.add("delete NODE TABLE ROW", 3, func(ctx context.Context, words []string,
		_ *answer) (string, error) {
		table, row, err := world.row(words)
		if err != nil {
			return "", err
		}
		change := bigtable.NewMutation()
		change.DeleteRow()
		return "", table.Apply(ctx, row, change)
	})
	all.add("rows NODE TABLE [START END]", 2, func(ctx context.Context, words []string,
		answer *answer) (string, error) {
		table, span, err := world.span(words)
		if err != nil {
			return "", err
		}
		count := 0
		err = table.ReadRows(ctx, span, func(row bigtable.Row) bool {
			count++
			writeRow(answer, row)
			return true
		})
		return strconv.Itoa(count), err
	})
	all.add("copy NODE TABLE START END NODE TABLE", 6, world.copyRows)
}

// NODE TABLE at the beginning of the words.
func (s *store) table(words []string) (*bigtable.Table, error) {
	n, err := s.find(words[0])
	if err != nil {
		return nil, err
	}
	return n.client.Open(words[1]), nil
}

// NODE TABLE ROW.
func (s *store) row(words []string) (*bigtable.Table, string, error) {
	table, err := s.table(words)
	if err != nil {
		return nil, "", err
	}
	row, err := parseKey(words[2])
	return table, row, err
}

// NODE TABLE and, if they are there, START END.
func (s *store) span(words []string) (*bigtable.Table, bigtable.RowRange, error) {
	table, err := s.table(words)
	if err != nil || len(words) < 4 {
		return table, bigtable.InfiniteRange(""), err
	}
	start, err := parseKey(words[2])
	if err != nil {
		return nil, bigtable.RowRange{}, err
	}
	end, err := parseKey(words[3])
	if err != nil {
		return nil, bigtable.RowRange{}, err
	}
	if end == "" {
		return table, bigtable.InfiniteRange(start), nil
	}
	return table, bigtable.NewRange(start, end), nil
}

// A line a cell: row, column, time stamp in microseconds, value.
func writeRow(answer *answer, row bigtable.Row) {
	for _, items := range row {
		for _, item := range items {
			answer.line(formatKey(item.Row), formatKey(item.Column),
				strconv.FormatInt(int64(item.Timestamp), 10), formatKey(string(item.Value)))
		}
	}
}

// Copy the rows of a span with all their cells. The table that takes them has to stand.
func (s *store) copyRows(ctx context.Context, words []string, _ *answer) (string, error) {
	from, span, err := s.span(words)
	if err != nil {
		return "", err
	}
	to, err := s.table(words[4:])
	if err != nil {
		return "", err
	}
	var keys []string
	var changes []*bigtable.Mutation
	err = from.ReadRows(ctx, span, func(row bigtable.Row) bool {
		keys = append(keys, row.Key())
		changes = append(changes, writingAgain(row))
		return true
	})
	for done := 0; err == nil && done < len(keys); done += bulkMax {
		end := done + bulkMax
		if end > len(keys) {
			end = len(keys)
		}
		err = applyAll(ctx, to, keys[done:end], changes[done:end])
	}
	return strconv.Itoa(len(keys)), err
}

func writingAgain(row bigtable.Row) *bigtable.Mutation {
	change := bigtable.NewMutation()
	for family, items := range row {
		for _, item := range items {
			qualifier := strings.TrimPrefix(item.Column, family+":")
			change.Set(family, qualifier, item.Timestamp, item.Value)
		}
	}
	return change
}

func applyAll(ctx context.Context, table *bigtable.Table, keys []string,
	changes []*bigtable.Mutation) error {
	failures, err := table.ApplyBulk(ctx, keys, changes)
	if err != nil {
		return err
	}
	for i, failure := range failures {
		if failure != nil {
			return fmt.Errorf("row %s: %w", formatKey(keys[i]), failure)
		}
	}
	return nil
}
