import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.AbortTransactionSpec;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ProducerState;
import org.apache.kafka.clients.admin.TransactionDescription;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * Copies a topic to another one, exactly once: each batch of records with its offsets in a transaction, every second of
 * which is aborted and done again. Then a second producer takes over, which has two-phase commits enabled, and a
 * transaction that hangs is ended by hand. What comes of it is said line by line.
 *
 * <p>Arguments: bootstrap address, source topic, target topic, group, transactional id. The topics are there and empty,
 * with one partition.
 */
public class Copier {
    private static final int RECORDS = 40;
    private static final Duration WAIT_MAX = Duration.ofSeconds(20);

    private static String bootstrap;
    private static TopicPartition source;
    private static TopicPartition target;
    private static String group;
    private static String transactionalId;

    public static void main(String[] arguments) throws Exception {
        bootstrap = arguments[0];
        source = new TopicPartition(arguments[1], 0);
        target = new TopicPartition(arguments[2], 0);
        group = arguments[3];
        transactionalId = arguments[4];
        fill();
        KafkaProducer<String, String> ana = producer(false);
        copy(ana);
        read();
        succeed(ana);
        endByHand();
    }

    /** With {@code isTwoPhase} it would say that it takes part in two-phase commits, to a broker that knows of them. */
    private static KafkaProducer<String, String> producer(boolean isTwoPhase) {
        Map<String, Object> settings = Map.of(
                "bootstrap.servers", bootstrap, "transactional.id", transactionalId,
                "transaction.two.phase.commit.enable", isTwoPhase);
        KafkaProducer<String, String> producer =
                new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer());
        producer.initTransactions();
        return producer;
    }

    private static KafkaConsumer<String, String> consumer(TopicPartition partition) {
        Map<String, Object> settings = Map.of(
                "bootstrap.servers", bootstrap, "group.id", group, "auto.offset.reset", "earliest",
                "enable.auto.commit", "false", "isolation.level", "read_committed", "max.poll.records", "5");
        KafkaConsumer<String, String> consumer =
                new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer());
        consumer.assign(List.of(partition));
        return consumer;
    }

    private static void fill() {
        try (KafkaProducer<String, String> producer = new KafkaProducer<>(
                Map.of("bootstrap.servers", bootstrap), new StringSerializer(), new StringSerializer())) {
            for (int number = 0; number < RECORDS; number++) {
                producer.send(new ProducerRecord<>(source.topic(), 0, "key", String.valueOf(number)));
            }
        }
    }

    private static void copy(KafkaProducer<String, String> producer) throws Exception {
        int transactions = 0;
        long next = 0;
        try (KafkaConsumer<String, String> consumer = consumer(source)) {
            while (next < RECORDS) {
                long begin = next;
                producer.beginTransaction();
                for (ConsumerRecord<String, String> record : consumer.poll(WAIT_MAX)) {
                    producer.send(new ProducerRecord<>(target.topic(), 0, record.key(), record.value()));
                    next = record.offset() + 1;
                }
                producer.sendOffsetsToTransaction(
                        Map.of(source, new OffsetAndMetadata(next)), consumer.groupMetadata());
                if (++transactions % 2 == 0) {
                    producer.commitTransaction();
                } else {
                    producer.abortTransaction();
                    consumer.seek(source, begin);
                    next = begin;
                }
            }
            OffsetAndMetadata committed = consumer.committed(java.util.Set.of(source)).get(source);
            System.out.println("committed " + committed.offset());
        }
        int epoch = description().producerEpoch();
        System.out.println(epoch == 0 ? "epoch stays" : epoch == transactions ? "epoch counts transactions" : "?");
    }

    private static void read() {
        List<String> values = new ArrayList<>();
        try (KafkaConsumer<String, String> consumer = consumer(target)) {
            while (values.size() < RECORDS) {
                for (ConsumerRecord<String, String> record : consumer.poll(WAIT_MAX)) {
                    values.add(record.value());
                }
            }
        }
        List<String> expected = new ArrayList<>();
        for (int number = 0; number < RECORDS; number++) {
            expected.add(String.valueOf(number));
        }
        System.out.println(values.equals(expected) ? "copied exactly once" : "copied " + values);
    }

    /** A second producer begins while the first one has a transaction open. */
    private static void succeed(KafkaProducer<String, String> ana) throws Exception {
        ana.beginTransaction();
        ana.send(new ProducerRecord<>(target.topic(), 0, "key", "lost")).get();
        System.out.println("open: " + describe());
        KafkaProducer<String, String> bo = producer(true);
        try {
            ana.commitTransaction();
            System.out.println("not fenced");
        } catch (KafkaException fenced) {
            System.out.println("ana is fenced");
        }
        ana.close();
        bo.beginTransaction();
        bo.send(new ProducerRecord<>(target.topic(), 0, "key", "kept")).get();
        bo.commitTransaction();
        bo.close();
        System.out.println("closed: " + describe());
    }

    private static TransactionDescription description() throws Exception {
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", bootstrap))) {
            return description(admin);
        }
    }

    private static TransactionDescription description(Admin admin) throws Exception {
        return admin.describeTransactions(List.of(transactionalId)).description(transactionalId).get();
    }

    private static String describe() throws Exception {
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", bootstrap))) {
            for (int tries = 0; ; tries++) {
                TransactionDescription found = description(admin);
                if (!found.state().toString().startsWith("Prepare") || tries == 100) {
                    return found.state() + " with " + found.topicPartitions().size();
                }
                Thread.sleep(20);
            }
        }
    }

    /** As kafka-transactions.sh finds and ends one that hangs. */
    private static void endByHand() throws Exception {
        KafkaProducer<String, String> cy = producer(false);
        cy.beginTransaction();
        cy.send(new ProducerRecord<>(target.topic(), 0, "key", "hangs")).get();
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", bootstrap))) {
            Map<String, String> states = new TreeMap<>();
            admin.listTransactions().all().get()
                    .forEach(listing -> states.put(listing.transactionalId(), listing.state().toString()));
            System.out.println("listed: " + states.get(transactionalId));
            for (ProducerState state :
                    admin.describeProducers(List.of(target)).partitionResult(target).get().activeProducers()) {
                if (state.currentTransactionStartOffset().isPresent()) {
                    admin.abortTransaction(new AbortTransactionSpec(
                            target, state.producerId(), (short) state.producerEpoch(),
                            state.coordinatorEpoch().orElse(0))).all().get();
                    System.out.println("ended by hand");
                }
            }
            admin.fenceProducers(List.of(transactionalId)).all().get();
        }
        try {
            cy.commitTransaction();
            System.out.println("not fenced");
        } catch (KafkaException fenced) {
            System.out.println("cy is fenced");
        }
        System.exit(0);
    }
}
