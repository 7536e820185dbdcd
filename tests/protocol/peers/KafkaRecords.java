import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.function.Supplier;
import org.apache.kafka.common.InvalidRecordException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.errors.CorruptRecordException;
import org.apache.kafka.common.errors.RecordTooLargeException;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.record.internal.CompressionType;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.MutableRecordBatch;
import org.apache.kafka.common.record.internal.RecordBatch;
import org.apache.kafka.common.requests.ProduceRequest;
import org.apache.kafka.common.requests.ProduceResponse.RecordError;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.common.utils.internals.BufferSupplier;
import org.apache.kafka.common.utils.internals.PrimitiveRef;
import org.apache.kafka.storage.internals.log.AppendOrigin;
import org.apache.kafka.storage.internals.log.LogValidator;
import org.apache.kafka.storage.internals.log.RecordValidationException;

/**
 * Judges the records of Produce requests with Apache Kafka's own classes, as a broker does before it appends them.
 *
 * <p>in: version i16, max.message.bytes i32, max.decompressed.message.bytes i32, LogAppendTime i8, before.max.ms i64,
 * after.max.ms i64, compacted i8, codec i8 (-1 as produced), base offset i64, leader epoch i32, now i64, length i32,
 * records. Out: 1, max timestamp i64, last offset i64, length i32, the batch to append; or 0, error code i16, number i32
 * and indexes i32 of refused records.
 */
public class KafkaRecords {
    private record Question(short version, int maxMessageBytes, int maxRecordBytes, TimestampType timestampType,
            long beforeMaxMs, long afterMaxMs, boolean isCompacted, byte codec, long baseOffset, int leaderEpoch, long nowMs,
            byte[] data) {
        static Question read(DataInputStream in) throws IOException {
            return new Question(in.readShort(), in.readInt(), in.readInt(),
                in.readBoolean() ? TimestampType.LOG_APPEND_TIME : TimestampType.CREATE_TIME, in.readLong(), in.readLong(),
                in.readBoolean(), in.readByte(), in.readLong(), in.readInt(), in.readLong(), in.readNBytes(in.readInt()));
        }
    }

    /** What LogValidator counts for the broker's metrics. */
    private static class NoMetrics implements LogValidator.MetricsRecorder {
        @Override public void recordInvalidMagic() {}
        @Override public void recordInvalidOffset() {}
        @Override public void recordInvalidSequence() {}
        @Override public void recordInvalidChecksums() {}
        @Override public void recordNoKeyCompactedTopic() {}
    }

    private record StandingStill(long milliseconds) implements Time {
        @Override public long hiResClockMs() { return milliseconds; }
        @Override public long nanoseconds() { return milliseconds * 1_000_000; }
        @Override public void sleep(long ms) {}
        @Override public void waitObject(Object object, Supplier<Boolean> condition, long deadlineMs) {}
    }

    public static void main(String[] arguments) throws IOException {
        DataInputStream in = new DataInputStream(new BufferedInputStream(System.in));
        DataOutputStream out = new DataOutputStream(new BufferedOutputStream(System.out));
        while (in.readBoolean()) {
            Question question = Question.read(in);
            try {
                answer(question, out);
            } catch (RecordValidationException refusal) {
                refuse(out, refusal.invalidException(), refusal.recordErrors());
            } catch (Throwable refusal) {
                refuse(out, refusal, List.of());
            }
            out.flush();
        }
    }

    private static void answer(Question question, DataOutputStream out) throws IOException {
        MemoryRecords records = MemoryRecords.readableRecords(ByteBuffer.wrap(question.data));
        ProduceRequest.validateRecords(question.version, records);
        CompressionType codec = CompressionType.NONE;
        int validBytes = 0;
        for (MutableRecordBatch batch : records.batches()) {  // as the private UnifiedLog.analyzeAndValidateRecords
            if (batch.baseOffset() != 0)
                throw new InvalidRecordException("base offset");
            checkSize(batch, question.maxMessageBytes);
            if (!batch.isValid())
                throw new CorruptRecordException("checksum");
            validBytes += batch.sizeInBytes();
            codec = batch.compressionType();
        }
        records = MemoryRecords.readableRecords(ByteBuffer.wrap(question.data, 0, validBytes).slice());
        Compression target = Compression.of(question.codec < 0 ? codec : CompressionType.forId(question.codec)).build();
        LogValidator validator = new LogValidator(records, new TopicPartition("topic", 0), new StandingStill(question.nowMs),
            codec, target, question.isCompacted, RecordBatch.MAGIC_VALUE_V2, question.timestampType, question.beforeMaxMs,
            question.afterMaxMs, question.leaderEpoch, AppendOrigin.CLIENT, question.maxRecordBytes);
        PrimitiveRef.LongRef offset = PrimitiveRef.ofLong(question.baseOffset);
        LogValidator.ValidationResult result =
            validator.validateMessagesAndAssignOffsets(offset, new NoMetrics(), BufferSupplier.create());
        if (result.messageSizeMaybeChanged())
            for (RecordBatch batch : result.validatedRecords().batches())
                checkSize(batch, question.maxMessageBytes);
        ByteBuffer appended = result.validatedRecords().buffer();
        byte[] bytes = new byte[appended.remaining()];
        appended.get(bytes);
        out.writeBoolean(true);
        out.writeLong(result.maxTimestampMs());
        out.writeLong(offset.value - 1);
        out.writeInt(bytes.length);
        out.write(bytes);
    }

    private static void checkSize(RecordBatch batch, int maxMessageBytes) {
        if (batch.sizeInBytes() > maxMessageBytes)
            throw new RecordTooLargeException("size");
    }

    private static void refuse(DataOutputStream out, Throwable refusal, List<RecordError> faults) throws IOException {
        out.writeBoolean(false);
        out.writeShort(Errors.forException(refusal).code());
        out.writeInt(faults.size());
        for (RecordError fault : faults)
            out.writeInt(fault.batchIndex);
    }
}
