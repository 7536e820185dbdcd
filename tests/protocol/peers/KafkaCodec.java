import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.MessageUtil;
import org.apache.kafka.common.protocol.Readable;

/**
 * Reads frames with Apache Kafka's generated classes and says what it saw. All lengths are int32.
 *
 * <p>in: class name, version (int16), frame. Out: 1, the values as JSON, bytes left over, the message written again
 * (length -1 and nothing if it can't be); or 0 and why the frame was refused.
 */
public class KafkaCodec {
    private record Codec(Constructor<?> reader, Method json) {}

    private static final Map<String, Codec> CODECS = new HashMap<>();

    public static void main(String[] arguments) throws Exception {
        DataInputStream in = new DataInputStream(new BufferedInputStream(System.in));
        DataOutputStream out = new DataOutputStream(new BufferedOutputStream(System.out));
        while (true) {
            String name;
            try {
                name = new String(in.readNBytes(in.readInt()), StandardCharsets.UTF_8);
            } catch (EOFException end) {
                return;
            }
            short version = in.readShort();
            answer(codec(name), version, ByteBuffer.wrap(in.readNBytes(in.readInt())), out);
            out.flush();
        }
    }

    private static Codec codec(String name) throws ReflectiveOperationException {
        Codec known = CODECS.get(name);
        if (known == null) {
            Class<?> message = Class.forName(name);
            Method json = Class.forName(name + "JsonConverter").getMethod("write", message, short.class, boolean.class);
            known = new Codec(message.getConstructor(Readable.class, short.class), json);
            CODECS.put(name, known);
        }
        return known;
    }

    private static void answer(Codec codec, short version, ByteBuffer frame, DataOutputStream out)
            throws IOException, ReflectiveOperationException {
        Message message;
        try {
            message = (Message) codec.reader.newInstance(new ByteBufferAccessor(frame), version);
        } catch (InvocationTargetException refused) {
            out.writeByte(0);
            write(refused.getCause().toString().getBytes(StandardCharsets.UTF_8), out);
            return;
        }
        int left = frame.remaining();
        out.writeByte(1);
        write(codec.json.invoke(null, message, version, false).toString().getBytes(StandardCharsets.UTF_8), out);
        out.writeInt(left);
        try {
            write(MessageUtil.byteBufferToArray(MessageUtil.toByteBufferAccessor(message, version).buffer()), out);
        } catch (RuntimeException cannotBeWritten) {
            out.writeInt(-1);
        }
    }

    private static void write(byte[] bytes, DataOutputStream out) throws IOException {
        out.writeInt(bytes.length);
        out.write(bytes);
    }
}
