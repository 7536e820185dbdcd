// kafka-go: the words of the stories.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"os"
	"sync"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/sasl"
	"github.com/segmentio/kafka-go/sasl/plain"

	"card/words"
)

type program struct {
	bootstrap string
	clientID  string
	tls       *tls.Config
	sasl      sasl.Mechanism

	// generation is the consumer's; read says how far, by topic and partition.
	generation *kafka.Generation
	read       map[string]map[int]int64
	lock       sync.Mutex
	end        func() error
}

func main() {
	bootstrap, clientID, security := words.Arguments()
	p := &program{bootstrap: bootstrap, clientID: clientID}
	if security.CA != "" {
		p.tls = trusting(security.CA)
	}
	if security.User != "" {
		p.sasl = plain.Mechanism{Username: security.User, Password: security.Password}
	}
	words.Run(words.Words{
		"produce":   p.produce,
		"assign":    p.assign,
		"subscribe": p.subscribe,
		"commit":    p.commit,
		"close":     func(words.Order) error { return p.end() },
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

func (p *program) dialer() *kafka.Dialer {
	return &kafka.Dialer{ClientID: p.clientID, Timeout: words.Patience, TLS: p.tls, SASLMechanism: p.sasl}
}

// produce has a writer for each partition, for a message can't name one.
func (p *program) produce(order words.Order) error {
	ctx, cancel := context.WithTimeout(context.Background(), words.Patience)
	defer cancel()
	byPartition := map[int32][]kafka.Message{}
	for _, message := range order.Messages {
		sent := kafka.Message{Key: words.Raw(message.Key), Value: words.Raw(message.Value)}
		for _, header := range message.Headers {
			sent.Headers = append(sent.Headers, kafka.Header{Key: *header[0], Value: words.Raw(header[1])})
		}
		byPartition[message.Partition] = append(byPartition[message.Partition], sent)
	}
	for partition, messages := range byPartition {
		writer := p.writer(order, int(partition))
		if err := writer.WriteMessages(ctx, messages...); err != nil {
			return err
		}
		if err := writer.Close(); err != nil {
			return err
		}
	}
	return nil
}

func (p *program) writer(order words.Order, partition int) *kafka.Writer {
	writer := &kafka.Writer{
		Addr:         kafka.TCP(p.bootstrap),
		Topic:        order.Topic,
		Balancer:     kafka.BalancerFunc(func(kafka.Message, ...int) int { return partition }),
		BatchTimeout: 5 * time.Millisecond,
		RequiredAcks: kafka.RequireAll,
		Transport:    &kafka.Transport{ClientID: p.clientID, TLS: p.tls, SASL: p.sasl},
	}
	if order.Codec == "gzip" {
		writer.Compression = kafka.Gzip
	}
	return writer
}

func (p *program) assign(order words.Order) error {
	ctx, stop := context.WithCancel(context.Background())
	var reading sync.WaitGroup
	for _, each := range order.Partitions {
		reading.Add(1)
		go func() {
			defer reading.Done()
			p.follow(ctx, each.Topic, int(each.Index), kafka.FirstOffset)
		}()
	}
	p.end = func() error {
		stop()
		reading.Wait()
		return nil
	}
	return nil
}

// follow reads a partition until ctx ends.
func (p *program) follow(ctx context.Context, topic string, partition int, offset int64) {
	reader := kafka.NewReader(kafka.ReaderConfig{
		Brokers:   []string{p.bootstrap},
		Topic:     topic,
		Partition: partition,
		Dialer:    p.dialer(),
		MinBytes:  1,
		MaxBytes:  1 << 20,
		MaxWait:   words.FetchWait,
	})
	defer reader.Close()
	if err := reader.SetOffset(offset); err != nil {
		words.Failed(err)
		return
	}
	for {
		message, err := reader.ReadMessage(ctx)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			words.Failed(err)
			return
		}
		p.lock.Lock()
		if p.read[topic] != nil {
			p.read[topic][partition] = message.Offset + 1
		}
		p.lock.Unlock()
		words.Received(shown(message))
	}
}

func shown(received kafka.Message) words.Message {
	timestampMs := received.Time.UnixMilli()
	message := words.Message{
		Topic:       received.Topic,
		Partition:   int32(received.Partition),
		Offset:      received.Offset,
		TimestampMs: &timestampMs,
		Key:         words.Text(received.Key),
		Value:       words.Text(received.Value),
		Headers:     [][2]*string{},
	}
	for _, header := range received.Headers {
		message.Headers = append(message.Headers, [2]*string{&header.Key, words.Text(header.Value)})
	}
	return message
}

func (p *program) subscribe(order words.Order) error {
	config := kafka.ConsumerGroupConfig{
		ID:                order.Group,
		Brokers:           []string{p.bootstrap},
		Dialer:            p.dialer(),
		Topics:            order.Topics,
		GroupBalancers:    []kafka.GroupBalancer{kafka.RangeGroupBalancer{}},
		HeartbeatInterval: words.HeartbeatInterval,
		StartOffset:       kafka.FirstOffset,
	}
	if order.SessionTimeoutMs != 0 {
		config.SessionTimeout = time.Duration(order.SessionTimeoutMs) * time.Millisecond
	}
	group, err := kafka.NewConsumerGroup(config)
	if err != nil {
		return err
	}
	p.end = group.Close
	go p.live(group)
	return nil
}

// live goes through the generations of a group until that is closed.
func (p *program) live(group *kafka.ConsumerGroup) {
	for {
		generation, err := group.Next(context.Background())
		if err == kafka.ErrGroupClosed {
			return
		}
		if err != nil {
			words.Failed(err)
			continue
		}
		p.begin(generation)
	}
}

func (p *program) begin(generation *kafka.Generation) {
	p.lock.Lock()
	p.generation, p.read = generation, map[string]map[int]int64{}
	for topic := range generation.Assignments {
		p.read[topic] = map[int]int64{}
	}
	p.lock.Unlock()
	var partitions []words.Partition
	for topic, assigned := range generation.Assignments {
		for _, each := range assigned {
			partitions = append(partitions, words.Partition{Topic: topic, Index: int32(each.ID)})
		}
	}
	words.Assigned(partitions)
	generation.Start(func(ctx context.Context) {
		<-ctx.Done()
		words.Revoked(partitions)
	})
	for topic, assigned := range generation.Assignments {
		for _, each := range assigned {
			generation.Start(func(ctx context.Context) { p.follow(ctx, topic, each.ID, each.Offset) })
		}
	}
}

func (p *program) commit(words.Order) error {
	p.lock.Lock()
	defer p.lock.Unlock()
	return p.generation.CommitOffsets(p.read)
}
