//go:build newgroups

package main

import "github.com/twmb/franz-go/pkg/kgo"

func newGroup() []kgo.Opt { return []kgo.Opt{kgo.ServerSideBalancer()} }
