import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.BooleanSupplier;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ConsumerGroupDescription;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * Two members of one process share a topic of six partitions, and what comes of it is said line by line.
 *
 * <p>Arguments: bootstrap address, topic, group, assignor class. The topic is there and empty.
 */
public class TwoMembers {
    private static final int PARTITIONS = 6;
    private static final int RECORDS = 60;
    private static final Duration WAIT_MAX = Duration.ofSeconds(20);

    private static String bootstrap;
    private static String topic;
    private static String group;
    private static String assignor;
    /** Partition and offset of every record that some member was given. */
    private static final Set<String> read = ConcurrentHashMap.newKeySet();

    public static void main(String[] arguments) throws Exception {
        bootstrap = arguments[0];
        topic = arguments[1];
        group = arguments[2];
        assignor = arguments[3];
        produce();
        Member ana = new Member("ana");
        await("ana has all", () -> ana.holds == PARTITIONS);
        Member bo = new Member("bo");
        await("both have half", () -> ana.holds == PARTITIONS / 2 && bo.holds == PARTITIONS / 2);
        System.out.println("ana gave up " + ana.revoked);
        await("all is read", () -> read.size() == RECORDS);
        bo.leave();
        await("ana has all again", () -> ana.holds == PARTITIONS);
        ana.leave();
        lookBack();
    }

    private static void produce() throws Exception {
        Map<String, Object> settings = Map.of("bootstrap.servers", bootstrap, "compression.type", "zstd");
        try (KafkaProducer<String, String> producer =
                new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer())) {
            for (int number = 0; number < RECORDS; number++) {
                producer.send(new ProducerRecord<>(topic, number % PARTITIONS, "key", "value " + number));
            }
            producer.flush();
        }
    }

    private static void lookBack() throws Exception {
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", bootstrap))) {
            ConsumerGroupDescription described =
                    admin.describeConsumerGroups(List.of(group)).describedGroups().get(group).get();
            System.out.println("group is " + described.groupState() + " with " + described.members().size());
            long committed = admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata().get()
                    .values().stream().mapToLong(offset -> offset.offset()).sum();
            System.out.println("committed " + committed);
        }
    }

    private static void await(String what, BooleanSupplier condition) throws InterruptedException {
        long deadline = System.nanoTime() + WAIT_MAX.toNanos();
        while (!condition.getAsBoolean()) {
            if (System.nanoTime() > deadline) {
                System.out.println("never: " + what);
                System.exit(1);
            }
            Thread.sleep(10);
        }
        System.out.println(what);
    }

    /** A consumer in a thread of its own; it commits whatever it was given before it lets go of a partition. */
    private static final class Member implements ConsumerRebalanceListener {
        volatile int holds;
        volatile int revoked;
        private volatile boolean leaving;
        private final KafkaConsumer<String, String> consumer;
        private final Thread thread;

        Member(String name) {
            consumer = new KafkaConsumer<>(
                    Map.of("bootstrap.servers", bootstrap, "group.id", group, "client.id", name,
                            "partition.assignment.strategy", assignor, "auto.offset.reset", "earliest",
                            "enable.auto.commit", "false", "session.timeout.ms", "30000",
                            "heartbeat.interval.ms", "100"),
                    new StringDeserializer(), new StringDeserializer());
            thread = new Thread(this::run, name);
            thread.start();
        }

        private void run() {
            try (consumer) {
                consumer.subscribe(List.of(topic), this);
                while (!leaving) {
                    consumer.poll(Duration.ofMillis(50)).forEach(record -> read.add(record.partition() + "@" + record.offset()));
                    holds = consumer.assignment().size();
                }
                consumer.commitSync();
            }
        }

        void leave() throws InterruptedException {
            leaving = true;
            thread.join();
        }

        @Override
        public void onPartitionsAssigned(Collection<TopicPartition> partitions) {}

        @Override
        public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
            if (!leaving) {
                revoked += partitions.size();
                consumer.commitSync();
            }
        }
    }
}
