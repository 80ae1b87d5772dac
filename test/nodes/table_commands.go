package main

import (
	"context"
	"sort"
	"strconv"

	"cloud.google.com/go/bigtable"
)

const userFamily = "f"

// Making tables and dropping them. A range is a table named by its id, "r<id>".
func addTableCommands(all *commands, world *store) {
	all.add("create NODE TABLE [FAMILY...]", 2, func(ctx context.Context, words []string,
		_ *answer) (string, error) {
		n, err := world.find(words[0])
		if err != nil {
			return "", err
		}
		families := words[2:]
		if len(families) == 0 {
			families = []string{userFamily}
		}
		made := bigtable.TableConf{TableID: words[1], Families: map[string]bigtable.GCPolicy{}}
		for _, family := range families {
			made.Families[family] = bigtable.NoGcPolicy()
		}
		return "", n.admin.CreateTableFromConf(ctx, &made)
	})
	all.add("drop NODE TABLE", 2, func(ctx context.Context, words []string,
		_ *answer) (string, error) {
		n, err := world.find(words[0])
		if err != nil {
			return "", err
		}
		return "", n.admin.DeleteTable(ctx, words[1])
	})
	all.add("drop-all", 0, func(ctx context.Context, _ []string, _ *answer) (string, error) {
		for _, n := range world.nodes {
			names, err := n.admin.Tables(ctx)
			for i := 0; err == nil && i < len(names); i++ {
				err = n.admin.DeleteTable(ctx, names[i])
			}
			if err != nil {
				return "", err
			}
		}
		return "", nil
	})
	all.add("tables NODE", 1, func(ctx context.Context, words []string,
		answer *answer) (string, error) {
		n, err := world.find(words[0])
		if err != nil {
			return "", err
		}
		names, err := n.admin.Tables(ctx)
		sort.Strings(names)
		for _, name := range names {
			answer.line(name)
		}
		return strconv.Itoa(len(names)), err
	})
}
