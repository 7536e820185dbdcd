import org.apache.kafka.common.errors.RetriableException;
import org.apache.kafka.common.protocol.Errors;

/** Prints Kafka's error codes, one a line: number, name, retriable. */
public class KafkaErrors {
    public static void main(String[] arguments) {
        for (Errors error : Errors.values()) {
            System.out.println(error.code() + " " + error.name() + " " + (error.exception() instanceof RetriableException));
        }
    }
}
