//go:build !newgroups

package main

import "github.com/twmb/franz-go/pkg/kgo"

// newGroup is never asked for: these versions have no such groups.
func newGroup() []kgo.Opt { return nil }
