// franz-go: the words of the stories. Transactions are its GroupTransactSession, which reads what it commits offsets of.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl/plain"

	"card/words"
)

type program struct {
	common   []kgo.Opt
	consumer *kgo.Client
	// stop ends the polling; stopped is closed when it has ended.
	stop    context.CancelFunc
	stopped chan struct{}
	session *kgo.GroupTransactSession
	// read and committed are offsets of the source.
	read, committed int64
}

func main() {
	bootstrap, clientID, security := words.Arguments()
	p := &program{common: []kgo.Opt{kgo.SeedBrokers(bootstrap), kgo.ClientID(clientID), kgo.RetryTimeout(words.Patience)}}
	if security.CA != "" {
		p.common = append(p.common, kgo.DialTLSConfig(trusting(security.CA)))
	}
	if security.User != "" {
		login := plain.Auth{User: security.User, Pass: security.Password}
		p.common = append(p.common, kgo.SASL(login.AsMechanism()))
	}
	words.Run(words.Words{
		"produce":             p.produce,
		"assign":              p.assign,
		"subscribe":           p.subscribe,
		"commit":              p.commit,
		"close":               p.close,
		"begin_transactional": p.beginTransactional,
		"begin_transaction":   p.beginTransaction,
		"write":               p.write,
		"send_offsets":        p.sendOffsets,
		"end_transaction":     p.endTransaction,
	})
}

func trusting(path string) *tls.Config {
	certificates, err := os.ReadFile(path)
	if err != nil {
		panic(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(certificates)
	return &tls.Config{RootCAs: pool}
}

func (p *program) client(options ...kgo.Opt) (*kgo.Client, error) {
	return kgo.NewClient(append(append([]kgo.Opt{}, p.common...), options...)...)
}

func (p *program) produce(order words.Order) error {
	options := []kgo.Opt{kgo.RecordPartitioner(kgo.ManualPartitioner())}
	if order.Codec == "gzip" {
		options = append(options, kgo.ProducerBatchCompression(kgo.GzipCompression()))
	}
	client, err := p.client(options...)
	if err != nil {
		return err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), words.Patience)
	defer cancel()
	var records []*kgo.Record
	for _, message := range order.Messages {
		record := &kgo.Record{
			Topic:     order.Topic,
			Partition: message.Partition,
			Key:       words.Raw(message.Key),
			Value:     words.Raw(message.Value),
		}
		for _, header := range message.Headers {
			record.Headers = append(record.Headers, kgo.RecordHeader{Key: *header[0], Value: words.Raw(header[1])})
		}
		records = append(records, record)
	}
	return client.ProduceSync(ctx, records...).FirstErr()
}

func (p *program) assign(order words.Order) error {
	partitions := map[string]map[int32]kgo.Offset{}
	for _, each := range order.Partitions {
		if partitions[each.Topic] == nil {
			partitions[each.Topic] = map[int32]kgo.Offset{}
		}
		partitions[each.Topic][each.Index] = kgo.NewOffset().AtStart()
	}
	isolation := kgo.ReadUncommitted()
	if order.Isolation == "read_committed" {
		isolation = kgo.ReadCommitted()
	}
	return p.consume(kgo.ConsumePartitions(partitions), kgo.FetchIsolationLevel(isolation))
}

func (p *program) subscribe(order words.Order) error {
	options := []kgo.Opt{
		kgo.ConsumerGroup(order.Group),
		kgo.ConsumeTopics(order.Topics...),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.DisableAutoCommit(),
		kgo.Balancers(kgo.RangeBalancer()),
		kgo.HeartbeatInterval(words.HeartbeatInterval),
		kgo.OnPartitionsAssigned(telling(words.Assigned)),
		kgo.OnPartitionsRevoked(telling(words.Revoked)),
		kgo.OnPartitionsLost(telling(words.Lost)),
	}
	if order.SessionTimeoutMs != 0 {
		options = append(options, kgo.SessionTimeout(time.Duration(order.SessionTimeoutMs)*time.Millisecond))
	}
	if order.Instance != "" {
		options = append(options, kgo.InstanceID(order.Instance))
	}
	if order.Protocol == "consumer" {
		options = append(options, newGroup()...)
	}
	return p.consume(options...)
}

func telling(tell func([]words.Partition)) func(context.Context, *kgo.Client, map[string][]int32) {
	return func(_ context.Context, _ *kgo.Client, given map[string][]int32) {
		var partitions []words.Partition
		for topic, indexes := range given {
			for _, index := range indexes {
				partitions = append(partitions, words.Partition{Topic: topic, Index: index})
			}
		}
		tell(partitions)
	}
}

func (p *program) consume(options ...kgo.Opt) error {
	client, err := p.client(append(options, kgo.FetchMaxWait(words.FetchWait))...)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	p.consumer, p.stop, p.stopped = client, stop, make(chan struct{})
	go p.poll(ctx, client, p.stopped)
	return nil
}

func (p *program) poll(ctx context.Context, client *kgo.Client, stopped chan struct{}) {
	defer close(stopped)
	for {
		fetches := client.PollFetches(ctx)
		if ctx.Err() != nil {
			return
		}
		fetches.EachError(func(_ string, _ int32, err error) { words.Failed(err) })
		var messages []words.Message
		fetches.EachRecord(func(record *kgo.Record) { messages = append(messages, shown(record)) })
		words.Received(messages...)
	}
}

func shown(record *kgo.Record) words.Message {
	timestampMs := record.Timestamp.UnixMilli()
	message := words.Message{
		Topic:       record.Topic,
		Partition:   record.Partition,
		Offset:      record.Offset,
		TimestampMs: &timestampMs,
		Key:         words.Text(record.Key),
		Value:       words.Text(record.Value),
		Headers:     [][2]*string{},
	}
	for _, header := range record.Headers {
		message.Headers = append(message.Headers, [2]*string{&header.Key, words.Text(header.Value)})
	}
	return message
}

func (p *program) commit(words.Order) error {
	ctx, cancel := context.WithTimeout(context.Background(), words.Patience)
	defer cancel()
	return p.consumer.CommitUncommittedOffsets(ctx)
}

func (p *program) close(words.Order) error {
	p.stop()
	<-p.stopped
	p.consumer.Close()
	return nil
}

func (p *program) beginTransactional(order words.Order) error {
	session, err := kgo.NewGroupTransactSession(append(append([]kgo.Opt{}, p.common...),
		kgo.TransactionalID(order.TransactionalID),
		kgo.ConsumerGroup(order.Group),
		kgo.ConsumeTopics(order.Source),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchMaxWait(words.FetchWait),
		kgo.Balancers(kgo.RangeBalancer()),
	)...)
	p.session = session
	return err
}

func (p *program) beginTransaction(words.Order) error {
	return p.session.Begin()
}

func (p *program) write(order words.Order) error {
	ctx, cancel := context.WithTimeout(context.Background(), words.Patience)
	defer cancel()
	var records []*kgo.Record
	for _, value := range order.Values {
		records = append(records, &kgo.Record{Topic: order.Topic, Value: words.Raw(&value)})
	}
	return p.session.ProduceSync(ctx, records...).FirstErr()
}

// sendOffsets reads on to where the offset is; the transaction's end commits it.
func (p *program) sendOffsets(order words.Order) error {
	ctx, cancel := context.WithTimeout(context.Background(), words.Patience)
	defer cancel()
	wanted := order.Offsets[0].At
	for p.read < wanted {
		p.session.PollRecords(ctx, int(wanted-p.read)).EachRecord(func(record *kgo.Record) { p.read = record.Offset + 1 })
		if ctx.Err() != nil {
			return fmt.Errorf("read up to %d only: %w", p.read, ctx.Err())
		}
	}
	return nil
}

func (p *program) endTransaction(order words.Order) error {
	ctx, cancel := context.WithTimeout(context.Background(), words.Patience)
	defer cancel()
	isCommitted, err := p.session.End(ctx, kgo.TransactionEndTry(order.Commit))
	if err == nil && isCommitted != order.Commit {
		return fmt.Errorf("whether it was committed: %t", isCommitted)
	}
	if isCommitted {
		p.committed = p.read
	} else {
		p.read = p.committed
	}
	return err
}
