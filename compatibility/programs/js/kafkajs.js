// KafkaJS, version 1 and 2: the words of the stories. Arguments: address, client id, security.
"use strict";

const fs = require("node:fs");
const readline = require("node:readline");
const { CompressionTypes, Kafka, logLevel } = require("kafkajs");

const [bootstrap, clientId, security] = process.argv.slice(2);
const { ca, user, password } = JSON.parse(security);
const kafka = new Kafka({
  brokers: [bootstrap],
  clientId,
  logLevel: logLevel.ERROR,
  logCreator: () => ({ log }) => process.stderr.write(`${log.message} ${log.error ?? ""}\n`),
  retry: { retries: 3 },
  ...(ca && { ssl: { ca: [fs.readFileSync(ca)] } }),
  ...(user && { sasl: { mechanism: "plain", username: user, password } }),
});

const say = (what, told) => process.stdout.write(JSON.stringify({ [what]: told }) + "\n");
const raw = (text) => (text === null ? null : Buffer.from(text, "latin1"));
const text = (bytes) => (bytes === null || bytes === undefined ? null : Buffer.from(bytes).toString("latin1"));

let consumer;
/** What it holds, as [topic, partition]. */
let held = [];
/** Where the next message of a partition would be, by "topic partition". */
let read = new Map();
let producer;
let transaction;

const words = {
  async produce({ topic, messages, codec }) {
    const sender = kafka.producer();
    await sender.connect();
    await sender.send({
      topic,
      compression: codec === "gzip" ? CompressionTypes.GZIP : CompressionTypes.None,
      messages: messages.map(({ key, value, headers, partition }) => ({
        key: raw(key),
        value: raw(value),
        headers: Object.fromEntries(headers.map(([name, content]) => [name, raw(content)])),
        ...(partition !== null && { partition }),
      })),
    });
    await sender.disconnect();
    return [];
  },

  /** It reads in groups only: this one is nobody else's, and is given all partitions. */
  async assign({ partitions, isolation }) {
    consumer = kafka.consumer({
      groupId: `reader-${process.pid}-${process.hrtime.bigint()}`,
      maxWaitTimeInMs: 50,
      readUncommitted: isolation !== "read_committed",
    });
    await follow([...new Set(partitions.map(([topic]) => topic))]);
  },

  async subscribe({ group, topics, session_timeout_ms: sessionTimeout = 30_000 }) {
    consumer = kafka.consumer({ groupId: group, sessionTimeout, heartbeatInterval: 100, maxWaitTimeInMs: 50 });
    consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => {
      say("revoked", held);
      held = Object.entries(payload.memberAssignment).flatMap(([topic, indexes]) => indexes.map((at) => [topic, at]));
      say("assigned", held);
    });
    await follow(topics);
  },

  async commit() {
    const offsets = [...read].map(([place, offset]) => {
      const [topic, partition] = place.split(" ");
      return { topic, partition: Number(partition), offset: String(offset) };
    });
    await consumer.commitOffsets(offsets);
  },

  async close() {
    await consumer.disconnect();
    held = [];
    read = new Map();
  },

  async begin_transactional({ transactional_id: transactionalId }) {
    producer = kafka.producer({ transactionalId, idempotent: true, maxInFlightRequests: 1 });
    await producer.connect();
  },

  async begin_transaction() {
    transaction = await producer.transaction();
  },

  async write({ topic, values }) {
    await transaction.send({ topic, messages: values.map((value) => ({ value: raw(value) })) });
  },

  async send_offsets({ group, offsets }) {
    await transaction.sendOffsets({
      consumerGroupId: group,
      topics: offsets.map(([topic, partition, offset]) => ({
        topic,
        partitions: [{ partition, offset: String(offset) }],
      })),
    });
  },

  async end_transaction({ commit }) {
    await (commit ? transaction.commit() : transaction.abort());
  },
};

async function follow(topics) {
  await consumer.connect();
  for (const topic of topics) {
    await consumer.subscribe({ topic, fromBeginning: true });
  }
  await consumer.run({
    autoCommit: false,
    eachMessage: async ({ topic, partition, message }) => {
      read.set(`${topic} ${partition}`, Number(message.offset) + 1);
      say("messages", [
        {
          topic,
          partition,
          offset: Number(message.offset),
          timestamp_ms: Number(message.timestamp),
          key: text(message.key),
          value: text(message.value),
          headers: Object.entries(message.headers ?? {}).map(([name, content]) => [name, text(content)]),
        },
      ]);
    },
  });
}

async function obey({ do: word, with: options }) {
  try {
    say("done", (await words[word](options)) ?? null);
  } catch (error) {
    say("refused", { code: null, text: `${error.name}: ${error.message}` });
  }
}

let orders = Promise.resolve();
readline
  .createInterface({ input: process.stdin })
  .on("line", (line) => {
    orders = orders.then(() => obey(JSON.parse(line)));
  })
  .on("close", () => process.exit(0));
