import java.util.Properties;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.state.BuiltInDslStoreSuppliers;

/**
 * Counts words with Kafka Streams, exactly once: for each word of the source the target gets how often it came so far.
 *
 * <p>Words come without keys, so they go through a topic of Streams' own, by word, which is cleared of what was read;
 * how often each came is kept in a store, in memory or in RocksDB, and in another topic of its own. The program runs
 * until it is killed.
 *
 * <p>Arguments: bootstrap address, source topic, target topic, application id, where the store is ("memory" or
 * "rocksdb"), a directory for it.
 */
public class WordCount {
    public static void main(String[] arguments) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", arguments[0]);
        settings.put("application.id", arguments[3]);
        settings.put("processing.guarantee", "exactly_once_v2");
        settings.put("state.dir", arguments[5]);
        settings.put("commit.interval.ms", "50");
        settings.put("statestore.cache.max.bytes", "0");
        settings.put("repartition.purge.interval.ms", "50");
        settings.put("default.key.serde", Serdes.StringSerde.class.getName());
        settings.put("default.value.serde", Serdes.StringSerde.class.getName());
        settings.put(StreamsConfig.consumerPrefix("auto.offset.reset"), "earliest");
        settings.put(StreamsConfig.consumerPrefix("max.poll.records"), "100");
        settings.put(StreamsConfig.consumerPrefix("session.timeout.ms"), "1000");
        settings.put(StreamsConfig.consumerPrefix("heartbeat.interval.ms"), "200");
        settings.put(StreamsConfig.producerPrefix("transaction.timeout.ms"), "2000");
        boolean isInMemory = arguments[4].equals("memory");
        settings.put("dsl.store.suppliers.class", isInMemory
                ? BuiltInDslStoreSuppliers.InMemoryDslStoreSuppliers.class
                : BuiltInDslStoreSuppliers.RocksDBDslStoreSuppliers.class);
        StreamsBuilder builder = new StreamsBuilder();
        builder.<String, String>stream(arguments[1])
                .groupBy((key, word) -> word, Grouped.with(Serdes.String(), Serdes.String()))
                .count(Materialized.with(Serdes.String(), Serdes.Long()))
                .toStream()
                .mapValues(count -> String.valueOf(count))
                .to(arguments[2]);
        KafkaStreams streams = new KafkaStreams(builder.build(settings), settings);
        streams.setUncaughtExceptionHandler(failure -> {
            failure.printStackTrace();
            Runtime.getRuntime().halt(1);
            return null;
        });
        streams.start();
    }
}
