// sarama: the words of the stories.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"os"
	"sync"
	"time"

	"github.com/IBM/sarama"

	"card/words"
)

type program struct {
	bootstrap []string
	clientID  string
	security  words.Security
	producer  sarama.SyncProducer
	// session is the consumer's of this generation.
	session sarama.ConsumerGroupSession
	lock    sync.Mutex
	// end closes the consumer, and returns when it is closed.
	end func() error
}

func main() {
	bootstrap, clientID, security := words.Arguments()
	p := &program{bootstrap: []string{bootstrap}, clientID: clientID, security: security}
	words.Run(words.Words{
		"produce":             p.produce,
		"assign":              p.assign,
		"subscribe":           p.subscribe,
		"commit":              p.commit,
		"close":               func(words.Order) error { return p.end() },
		"begin_transactional": p.beginTransactional,
		"begin_transaction":   func(words.Order) error { return p.producer.BeginTxn() },
		"write":               p.write,
		"send_offsets":        p.sendOffsets,
		"end_transaction":     p.endTransaction,
	})
}

func (p *program) config() *sarama.Config {
	config := sarama.NewConfig()
	config.Version = sarama.MaxVersion
	config.ClientID = p.clientID
	config.Producer.Return.Successes = true
	config.Producer.RequiredAcks = sarama.WaitForAll
	config.Consumer.MaxWaitTime = words.FetchWait
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	config.Consumer.Offsets.AutoCommit.Enable = false
	if p.security.CA != "" {
		config.Net.TLS.Enable = true
		config.Net.TLS.Config = trusting(p.security.CA)
	}
	if p.security.User != "" {
		config.Net.SASL.Enable = true
		config.Net.SASL.User, config.Net.SASL.Password = p.security.User, p.security.Password
	}
	return config
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

func (p *program) produce(order words.Order) error {
	config := p.config()
	config.Producer.Partitioner = sarama.NewManualPartitioner
	if order.Codec == "gzip" {
		config.Producer.Compression = sarama.CompressionGZIP
	}
	producer, err := sarama.NewSyncProducer(p.bootstrap, config)
	if err != nil {
		return err
	}
	defer producer.Close()
	var messages []*sarama.ProducerMessage
	for _, message := range order.Messages {
		sent := &sarama.ProducerMessage{
			Topic:     order.Topic,
			Partition: message.Partition,
			Value:     sarama.ByteEncoder(words.Raw(message.Value)),
		}
		if message.Key != nil {
			sent.Key = sarama.ByteEncoder(words.Raw(message.Key))
		}
		for _, header := range message.Headers {
			sent.Headers = append(sent.Headers, sarama.RecordHeader{Key: []byte(*header[0]), Value: words.Raw(header[1])})
		}
		messages = append(messages, sent)
	}
	return producer.SendMessages(messages)
}

func (p *program) assign(order words.Order) error {
	config := p.config()
	if order.Isolation == "read_committed" {
		config.Consumer.IsolationLevel = sarama.ReadCommitted
	}
	consumer, err := sarama.NewConsumer(p.bootstrap, config)
	if err != nil {
		return err
	}
	p.end = consumer.Close
	for _, each := range order.Partitions {
		partition, err := consumer.ConsumePartition(each.Topic, each.Index, sarama.OffsetOldest)
		if err != nil {
			return err
		}
		go func() {
			for message := range partition.Messages() {
				words.Received(shown(message))
			}
		}()
	}
	return nil
}

func (p *program) subscribe(order words.Order) error {
	config := p.config()
	config.Consumer.Group.Heartbeat.Interval = words.HeartbeatInterval
	config.Consumer.Group.InstanceId = order.Instance
	config.Consumer.Group.Rebalance.GroupStrategies = []sarama.BalanceStrategy{sarama.NewBalanceStrategyRange()}
	if order.SessionTimeoutMs != 0 {
		config.Consumer.Group.Session.Timeout = time.Duration(order.SessionTimeoutMs) * time.Millisecond
	}
	group, err := sarama.NewConsumerGroup(p.bootstrap, order.Group, config)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	stopped := make(chan struct{})
	p.end = func() error {
		stop()
		<-stopped
		return group.Close()
	}
	go func() {
		defer close(stopped)
		for ctx.Err() == nil {
			if err := group.Consume(ctx, order.Topics, p); err != nil {
				words.Failed(err)
				return
			}
		}
	}()
	return nil
}

// Setup is called when a generation begins.
func (p *program) Setup(session sarama.ConsumerGroupSession) error {
	p.lock.Lock()
	p.session = session
	p.lock.Unlock()
	words.Assigned(claimed(session))
	return nil
}

// Cleanup is called when a generation ends.
func (p *program) Cleanup(session sarama.ConsumerGroupSession) error {
	words.Revoked(claimed(session))
	return nil
}

// ConsumeClaim reads one partition for the length of a generation.
func (p *program) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for {
		select {
		case message, more := <-claim.Messages():
			if !more {
				return nil
			}
			session.MarkMessage(message, "")
			words.Received(shown(message))
		case <-session.Context().Done():
			return nil
		}
	}
}

func claimed(session sarama.ConsumerGroupSession) []words.Partition {
	var partitions []words.Partition
	for topic, indexes := range session.Claims() {
		for _, index := range indexes {
			partitions = append(partitions, words.Partition{Topic: topic, Index: index})
		}
	}
	return partitions
}

func shown(received *sarama.ConsumerMessage) words.Message {
	timestampMs := received.Timestamp.UnixMilli()
	message := words.Message{
		Topic:       received.Topic,
		Partition:   received.Partition,
		Offset:      received.Offset,
		TimestampMs: &timestampMs,
		Key:         words.Text(received.Key),
		Value:       words.Text(received.Value),
		Headers:     [][2]*string{},
	}
	for _, header := range received.Headers {
		message.Headers = append(message.Headers, [2]*string{words.Text(header.Key), words.Text(header.Value)})
	}
	return message
}

func (p *program) commit(words.Order) error {
	p.lock.Lock()
	defer p.lock.Unlock()
	p.session.Commit()
	return nil
}

func (p *program) beginTransactional(order words.Order) error {
	config := p.config()
	config.Producer.Idempotent = true
	config.Producer.Transaction.ID = order.TransactionalID
	config.Net.MaxOpenRequests = 1
	producer, err := sarama.NewSyncProducer(p.bootstrap, config)
	p.producer = producer
	return err
}

func (p *program) write(order words.Order) error {
	var messages []*sarama.ProducerMessage
	for _, value := range order.Values {
		messages = append(messages, &sarama.ProducerMessage{
			Topic: order.Topic,
			Value: sarama.ByteEncoder(words.Raw(&value)),
		})
	}
	return p.producer.SendMessages(messages)
}

func (p *program) sendOffsets(order words.Order) error {
	offsets := map[string][]*sarama.PartitionOffsetMetadata{}
	for _, each := range order.Offsets {
		offsets[each.Topic] = append(
			offsets[each.Topic], &sarama.PartitionOffsetMetadata{Partition: each.Index, Offset: each.At})
	}
	return p.producer.AddOffsetsToTxn(offsets, order.Group)
}

func (p *program) endTransaction(order words.Order) error {
	if order.Commit {
		return p.producer.CommitTxn()
	}
	return p.producer.AbortTxn()
}
