// Copies a topic to another one with franz-go, exactly once: two members of a group take each batch of records with its
// offsets into a transaction, and abort every second one. Before that a producer fills the topic, at last it is fenced.
// What comes of it is said line by line.
//
// Arguments: bootstrap address, source topic, target topic, group, transactional id. The topics are there and empty,
// with as many partitions as each other. With another argument, "member", it is one member that copies until it is
// killed.
package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	records          = 400
	batch            = 10
	txnTimeout       = 3 * time.Second
	patience         = 60 * time.Second
	pollMax          = 100 * time.Millisecond
	members          = 2
	recordsPerCommit = 100
)

// sessionTimeout is one that every broker takes.
var sessionTimeout = 10 * time.Second

var bootstrap, source, target, group, transactionalID = os.Args[1], os.Args[2], os.Args[3], os.Args[4], os.Args[5]

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if len(os.Args) > 6 {
		sessionTimeout = 1500 * time.Millisecond // its end is waited for after each kill
		copyAsMember(context.Background(), transactionalID, new(atomic.Int64), math.MaxInt64)
		return
	}
	fill(ctx)
	copyAll(ctx)
	read(ctx)
	fence(ctx)
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func producer(id string) *kgo.Client {
	client, err := kgo.NewClient(kgo.SeedBrokers(bootstrap), kgo.TransactionalID(id), kgo.RetryTimeout(patience))
	must(err)
	return client
}

// fill writes numbers in transactions, and after each of them some that are aborted.
func fill(ctx context.Context) {
	client := producer(transactionalID)
	defer client.Close()
	for begin := 0; begin < records; begin += recordsPerCommit {
		must(client.BeginTransaction())
		for number := begin; number < begin+recordsPerCommit; number++ {
			value := strconv.Itoa(number)
			client.Produce(ctx, &kgo.Record{Topic: source, Key: []byte(value), Value: []byte(value)}, nil)
		}
		must(client.Flush(ctx))
		must(client.EndTransaction(ctx, kgo.TryCommit))
		must(client.BeginTransaction())
		must(client.ProduceSync(ctx, &kgo.Record{Topic: source, Value: []byte("never")}).FirstErr())
		must(client.EndTransaction(ctx, kgo.TryAbort))
	}
	fmt.Println("filled")
}

// copyAll returns when all is copied and committed.
func copyAll(ctx context.Context) {
	var copied atomic.Int64
	var working sync.WaitGroup
	for member := range members {
		working.Add(1)
		go func() {
			defer working.Done()
			copyAsMember(ctx, fmt.Sprintf("%s-%d", transactionalID, member), &copied, records)
		}()
	}
	working.Wait()
	fmt.Println("copied", copied.Load())
}

// copyAsMember returns when all members together have copied so many records.
func copyAsMember(ctx context.Context, id string, copied *atomic.Int64, wanted int64) {
	session, err := kgo.NewGroupTransactSession(
		kgo.SeedBrokers(bootstrap),
		kgo.TransactionalID(id),
		kgo.TransactionTimeout(txnTimeout),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ConsumerGroup(group),
		kgo.SessionTimeout(sessionTimeout),
		kgo.HeartbeatInterval(sessionTimeout/5),
		kgo.Balancers(kgo.RangeBalancer()),
		kgo.ConsumeTopics(source),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.RequireStableFetchOffsets(),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
	)
	must(err)
	defer session.Close()
	for turn := 0; copied.Load() < wanted && ctx.Err() == nil; turn++ {
		polling, cancel := context.WithTimeout(ctx, pollMax)
		fetches := session.PollRecords(polling, batch)
		cancel()
		if fetches.Empty() {
			continue
		}
		must(session.Begin())
		count := 0
		for each := fetches.RecordIter(); !each.Done(); count++ {
			record := each.Next()
			copied := &kgo.Record{Topic: target, Partition: record.Partition, Key: record.Key, Value: record.Value}
			session.Produce(ctx, copied, nil)
		}
		isCommitted, err := session.End(ctx, turn%2 == 0)
		must(err)
		if isCommitted {
			copied.Add(int64(count))
		}
	}
}

func read(ctx context.Context) {
	client, err := kgo.NewClient(
		kgo.SeedBrokers(bootstrap),
		kgo.ConsumeTopics(target),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
	)
	must(err)
	defer client.Close()
	often := map[string]int{}
	for total := 0; total < records && ctx.Err() == nil; {
		client.PollFetches(ctx).EachRecord(func(record *kgo.Record) {
			often[string(record.Value)]++
			total++
		})
	}
	for number := range records {
		if often[strconv.Itoa(number)] != 1 || len(often) != records {
			fmt.Println("not exactly once:", number, often)
			return
		}
	}
	fmt.Println("copied exactly once")
}

// fence has a second producer begin while the first one has a transaction open.
func fence(ctx context.Context) {
	ana, bo := producer(transactionalID), producer(transactionalID)
	defer ana.Close()
	defer bo.Close()
	must(ana.BeginTransaction())
	must(ana.ProduceSync(ctx, &kgo.Record{Topic: target, Value: []byte("lost")}).FirstErr())
	must(bo.BeginTransaction())
	must(bo.ProduceSync(ctx, &kgo.Record{Topic: target, Value: []byte("kept")}).FirstErr())
	err := ana.EndTransaction(ctx, kgo.TryCommit)
	if errors.Is(err, kerr.ProducerFenced) || errors.Is(err, kerr.InvalidProducerEpoch) {
		fmt.Println("ana is fenced")
	} else {
		fmt.Println("not fenced:", err)
	}
	must(bo.EndTransaction(ctx, kgo.TryCommit))
	fmt.Println("bo has committed")
}
