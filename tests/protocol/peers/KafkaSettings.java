import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.config.ConfigDef.ConfigKey;
import org.apache.kafka.coordinator.group.GroupConfig;
import org.apache.kafka.server.config.AbstractKafkaConfig;
import org.apache.kafka.server.config.DynamicBrokerConfig;
import org.apache.kafka.storage.internals.log.LogConfig;

/**
 * Prints Apache Kafka's own tables of settings, one a line, in seven columns between tabs.
 *
 * <p>kind of resource, name, type, default (null: none), range or allowed values as the validator names itself, when a
 * change counts, and whether it is internal.
 */
public class KafkaSettings {
    public static void main(String[] arguments) {
        Map<String, String> updateModes = DynamicBrokerConfig.dynamicConfigUpdateModes();
        print("broker", AbstractKafkaConfig.CONFIG_DEF.configKeys(), updateModes);
        print("topic", LogConfig.configKeys(), Map.of());
        print("group", GroupConfig.CONFIG_DEF.configKeys(), Map.of());
    }

    private static void print(String resource, Map<String, ConfigKey> keys, Map<String, String> updateModes) {
        for (ConfigKey key : new TreeMap<>(keys).values()) {
            Object value = key.defaultValue == ConfigDef.NO_DEFAULT_VALUE ? null : key.defaultValue;
            String text = value == null ? "null" : ConfigDef.convertToString(value, key.type);
            System.out.println(String.join("\t", resource, key.name, key.type.name().toLowerCase(), text,
                Objects.toString(key.validator), updateModes.getOrDefault(key.name, "read-only"),
                Boolean.toString(key.internalConfig)));
        }
    }
}
