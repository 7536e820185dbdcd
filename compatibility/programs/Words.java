import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** Apache Kafka's own client: the words of the stories, from 2.8 on. Arguments: address, client id, security. */
public class Words implements ConsumerRebalanceListener {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Duration TURN = Duration.ofMillis(20);
    private static final long CALL_SECONDS_MAX =
            (long) Double.parseDouble(System.getenv().getOrDefault("OTTLA_PATIENCE_SECONDS", "30"));

    private final Map<String, Object> common = new HashMap<>();
    private KafkaConsumer<byte[], byte[]> consumer;
    private KafkaProducer<byte[], byte[]> transactional;

    public static void main(String[] arguments) throws Exception {
        new Words(arguments[0], arguments[1], JSON.readTree(arguments[2])).run();
    }

    private Words(String bootstrap, String clientId, JsonNode security) {
        common.put("bootstrap.servers", bootstrap);
        common.put("client.id", clientId);
        if (security.has("ca")) {
            common.put("security.protocol", "SSL");
            common.put("ssl.truststore.type", "PEM");
            common.put("ssl.truststore.location", security.get("ca").asText());
        } else if (security.has("user")) {
            common.put("security.protocol", "SASL_PLAINTEXT");
            common.put("sasl.mechanism", "PLAIN");
            common.put("sasl.jaas.config", String.format(
                    "org.apache.kafka.common.security.plain.PlainLoginModule required username=\"%s\" password=\"%s\";",
                    security.get("user").asText(), security.get("password").asText()));
        }
    }

    /** Do as told until stdin ends; in between the consumer has its turns. */
    private void run() throws Exception {
        BlockingQueue<String> lines = new LinkedBlockingQueue<>();
        Thread listener = new Thread(() -> listen(lines));
        listener.setDaemon(true);
        listener.start();
        while (true) {
            if (consumer != null && lines.isEmpty()) {
                turn();
            } else {
                obey(JSON.readTree(lines.take()));
            }
        }
    }

    private static void listen(BlockingQueue<String> lines) {
        try (BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
            input.lines().forEach(lines::add);
        } catch (java.io.IOException ended) {
            // Nobody is there any more.
        }
        Runtime.getRuntime().halt(0);
    }

    private void turn() throws Exception {
        List<Object> messages = new ArrayList<>();
        try {
            for (ConsumerRecord<byte[], byte[]> record : consumer.poll(TURN)) {
                messages.add(shown(record));
            }
        } catch (RuntimeException failed) {
            consumer = null;
            say("failed", refusal(failed));
        }
        if (!messages.isEmpty()) {
            say("messages", messages);
        }
    }

    private void obey(JsonNode order) throws Exception {
        try {
            say("done", perform(order.get("do").asText(), order.get("with")));
        } catch (ExecutionException failed) {
            say("refused", refusal(failed.getCause()));
        } catch (Exception failed) {
            say("refused", refusal(failed));
        }
    }

    private Object perform(String word, JsonNode with) throws Exception {
        switch (word) {
            case "produce":
                return produce(with);
            case "assign":
                consumer = consumer(Map.of("isolation.level", with.path("isolation").asText("read_uncommitted")));
                List<TopicPartition> partitions = new ArrayList<>();
                with.get("partitions").forEach(each -> partitions.add(partition(each)));
                consumer.assign(partitions);
                return null;
            case "subscribe":
                subscribe(with);
                return null;
            case "commit":
                consumer.commitSync();
                return null;
            case "close":
                consumer.close();
                consumer = null;
                return null;
            case "begin_transactional":
                transactional = producer(Map.of("transactional.id", with.get("transactional_id").asText()));
                transactional.initTransactions();
                return null;
            case "begin_transaction":
                transactional.beginTransaction();
                return null;
            case "write":
                List<Future<RecordMetadata>> sent = new ArrayList<>();
                with.get("values").forEach(value ->
                        sent.add(transactional.send(new ProducerRecord<>(with.get("topic").asText(), raw(value)))));
                stored(sent);
                return null;
            case "send_offsets":
                Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
                with.get("offsets").forEach(each ->
                        offsets.put(partition(each), new OffsetAndMetadata(each.get(2).asLong())));
                transactional.sendOffsetsToTransaction(
                        offsets, new ConsumerGroupMetadata(with.get("group").asText()));
                return null;
            case "end_transaction":
                if (with.get("commit").asBoolean()) {
                    transactional.commitTransaction();
                } else {
                    transactional.abortTransaction();
                }
                return null;
            default:
                throw new IllegalArgumentException("there is no word " + word);
        }
    }

    private Object produce(JsonNode with) throws Exception {
        try (KafkaProducer<byte[], byte[]> producer =
                producer(Map.of("compression.type", with.path("codec").asText("none")))) {
            List<Future<RecordMetadata>> sent = new ArrayList<>();
            for (JsonNode message : with.get("messages")) {
                Integer partition = message.get("partition").isNull() ? null : message.get("partition").asInt();
                ProducerRecord<byte[], byte[]> record = new ProducerRecord<>(
                        with.get("topic").asText(), partition, raw(message.get("key")), raw(message.get("value")));
                message.get("headers").forEach(each -> record.headers().add(each.get(0).asText(), raw(each.get(1))));
                sent.add(producer.send(record));
            }
            return stored(sent);
        }
    }

    private void subscribe(JsonNode with) {
        Map<String, Object> settings = new HashMap<>(Map.of("group.id", with.get("group").asText()));
        if (with.path("protocol").asText("classic").equals("consumer")) {
            settings.put("group.protocol", "consumer");
        } else {
            settings.put("session.timeout.ms", with.path("session_timeout_ms").asInt(30_000));
            settings.put("heartbeat.interval.ms", 100);
        }
        if (with.has("instance")) {
            settings.put("group.instance.id", with.get("instance").asText());
        }
        consumer = consumer(settings);
        List<String> topics = new ArrayList<>();
        with.get("topics").forEach(topic -> topics.add(topic.asText()));
        consumer.subscribe(topics, this);
    }

    private KafkaConsumer<byte[], byte[]> consumer(Map<String, Object> settings) {
        Map<String, Object> all = new HashMap<>(common);
        all.putAll(Map.of("auto.offset.reset", "earliest", "enable.auto.commit", "false", "fetch.max.wait.ms", 50));
        all.putAll(settings);
        return new KafkaConsumer<>(all, new ByteArrayDeserializer(), new ByteArrayDeserializer());
    }

    private KafkaProducer<byte[], byte[]> producer(Map<String, Object> settings) {
        Map<String, Object> all = new HashMap<>(common);
        all.put("max.block.ms", CALL_SECONDS_MAX * 1000);
        all.putAll(settings);
        return new KafkaProducer<>(all, new ByteArraySerializer(), new ByteArraySerializer());
    }

    private static List<Object> stored(List<Future<RecordMetadata>> sent) throws Exception {
        List<Object> stored = new ArrayList<>();
        for (Future<RecordMetadata> each : sent) {
            RecordMetadata metadata = each.get(CALL_SECONDS_MAX, TimeUnit.SECONDS);
            stored.add(List.of(metadata.partition(), metadata.offset()));
        }
        return stored;
    }

    @Override
    public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
        say("assigned", pairs(partitions));
    }

    @Override
    public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
        say("revoked", pairs(partitions));
    }

    @Override
    public void onPartitionsLost(Collection<TopicPartition> partitions) {
        say("lost", pairs(partitions));
    }

    private static List<Object> pairs(Collection<TopicPartition> partitions) {
        List<Object> pairs = new ArrayList<>();
        partitions.forEach(each -> pairs.add(List.of(each.topic(), each.partition())));
        return pairs;
    }

    private static Map<String, Object> shown(ConsumerRecord<byte[], byte[]> record) {
        List<Object> headers = new ArrayList<>();
        for (Header header : record.headers()) {
            headers.add(List.of(header.key(), text(header.value())));
        }
        Map<String, Object> shown = new LinkedHashMap<>();
        shown.put("topic", record.topic());
        shown.put("partition", record.partition());
        shown.put("offset", record.offset());
        shown.put("timestamp_ms", record.timestamp());
        shown.put("key", text(record.key()));
        shown.put("value", text(record.value()));
        shown.put("headers", headers);
        return shown;
    }

    private static TopicPartition partition(JsonNode pair) {
        return new TopicPartition(pair.get(0).asText(), pair.get(1).asInt());
    }

    private static byte[] raw(JsonNode text) {
        return text.isNull() ? null : text.asText().getBytes(StandardCharsets.ISO_8859_1);
    }

    private static String text(byte[] raw) {
        return raw == null ? null : new String(raw, StandardCharsets.ISO_8859_1);
    }

    private static Map<String, Object> refusal(Throwable failed) {
        Map<String, Object> refusal = new HashMap<>();
        refusal.put("code", null);
        refusal.put("text", failed.getClass().getSimpleName() + ": " + failed.getMessage());
        return refusal;
    }

    private static void say(String what, Object told) {
        try {
            Map<String, Object> line = new HashMap<>();
            line.put(what, told);
            System.out.println(JSON.writeValueAsString(line));
        } catch (java.io.IOException impossible) {
            throw new IllegalStateException(impossible);
        }
    }
}
