// @platformatic/kafka: the words of the stories. Arguments: address, client id, security.
"use strict";

const fs = require("node:fs");
const readline = require("node:readline");
const { Consumer, Producer } = require("@platformatic/kafka");

const [bootstrap, clientId, security] = process.argv.slice(2);
const { ca, user, password } = JSON.parse(security);
const common = {
  bootstrapBrokers: [bootstrap],
  clientId,
  retries: 3,
  ...(ca && { tls: { ca: [fs.readFileSync(ca)] } }),
  ...(user && { sasl: { mechanism: "PLAIN", username: user, password } }),
};
const TURN_MS = 20;
const READ_COMMITTED = 1;

const say = (what, told) => process.stdout.write(JSON.stringify({ [what]: told }) + "\n");
const raw = (text) => (text === null ? undefined : Buffer.from(text, "latin1"));
const text = (bytes) => (bytes === null || bytes === undefined ? null : Buffer.from(bytes).toString("latin1"));
const refusal = (error) => ({ code: null, text: `${error.name}: ${error.message}` });

let consumer;
let stream;
let looking;
/** What it holds, as "topic partition". */
let held = new Set();
/** The last message of each partition, by "topic partition". */
let last = new Map();
let producer;
let transaction;
/** The consumer of the source whose offsets the transactions commit, and what it has read. */
let source;
let read = [];

const words = {
  async produce({ topic, messages, codec }) {
    const sender = new Producer({ ...common, ...(codec === "gzip" && { compression: "gzip" }) });
    await sender.send({
      messages: messages.map(({ key, value, headers, partition }) => ({
        topic,
        key: raw(key),
        value: raw(value),
        headers: new Map(headers.map(([name, content]) => [Buffer.from(name), raw(content)])),
        ...(partition !== null && { partition }),
      })),
    });
    await sender.close();
    return [];
  },

  /** It reads in groups only: this one is nobody else's, and is given all partitions. */
  async assign({ partitions, isolation }) {
    consumer = new Consumer({ ...common, groupId: `reader-${process.pid}-${process.hrtime.bigint()}` });
    const isolationLevel = isolation === "read_committed" ? READ_COMMITTED : 0;
    stream = await follow(consumer, [...new Set(partitions.map(([topic]) => topic))], { isolationLevel }, tell);
  },

  async subscribe({ group, topics, instance, protocol, session_timeout_ms: sessionTimeout = 30_000 }) {
    const classic = { sessionTimeout, heartbeatInterval: 100 };
    consumer = new Consumer({
      ...common,
      groupId: group,
      ...(instance && { groupInstanceId: instance }),
      ...(protocol === "consumer" ? { groupProtocol: "consumer" } : classic),
    });
    looking = setInterval(() => held.size === 0 && look(), TURN_MS);
    stream = await follow(consumer, topics, {}, tell);
    stream.on("fetch", look);
  },

  async commit() {
    await Promise.all([...last.values()].map((message) => message.commit()));
  },

  async close() {
    clearInterval(looking);
    await stream.close();
    await consumer.close();
    held = new Set();
    last = new Map();
  },

  async begin_transactional({ transactional_id: transactionalId, group, source: topic }) {
    producer = new Producer({ ...common, transactionalId, idempotent: true });
    source = new Consumer({ ...common, groupId: group });
    await follow(source, [topic], {}, (message) => read.push(message));
  },

  async begin_transaction() {
    transaction = await producer.beginTransaction();
  },

  async write({ topic, values }) {
    await transaction.send({ messages: values.map((value) => ({ topic, value: raw(value) })) });
  },

  /** An offset is committed by the message before it. */
  async send_offsets({ offsets }) {
    await transaction.addConsumer(source);
    for (const [, , offset] of offsets) {
      await transaction.addOffset(await messageAt(offset - 1));
    }
  },

  async end_transaction({ commit }) {
    await (commit ? transaction.commit() : transaction.abort());
  },
};

async function follow(who, topics, options, hear) {
  const followed = await who.consume({
    topics,
    mode: "committed",
    fallbackMode: "earliest",
    autocommit: false,
    maxWaitTime: 50,
    ...options,
  });
  followed.on("data", hear);
  followed.on("error", (error) => say("failed", refusal(error)));
  return followed;
}

function tell(message) {
  last.set(`${message.topic} ${message.partition}`, message);
  say("messages", [
    {
      topic: message.topic,
      partition: message.partition,
      offset: Number(message.offset),
      timestamp_ms: Number(message.timestamp),
      key: text(message.key),
      value: text(message.value),
      headers: [...message.headers].map(([name, content]) => [text(name), text(content)]),
    },
  ]);
}

/**
 * Tells what has come and gone of what the consumer holds; the library has no event for it in all protocols. Who has held
 * something tells it when a fetch has ended, for that may have brought records of what it holds no more.
 */
function look() {
  const assigned = consumer.assignments ?? [];
  const now = new Set(assigned.flatMap(({ topic, partitions }) => partitions.map((at) => `${topic} ${at}`)));
  const pairs = (places) => places.map((place) => place.split(" ")).map(([topic, at]) => [topic, Number(at)]);
  const gone = [...held].filter((place) => !now.has(place));
  const come = [...now].filter((place) => !held.has(place));
  held = now;
  if (gone.length) say("revoked", pairs(gone));
  if (come.length) say("assigned", pairs(come));
}

async function messageAt(offset) {
  for (;;) {
    const found = read.find((message) => Number(message.offset) === offset);
    if (found) return found;
    await new Promise((resolve) => setTimeout(resolve, TURN_MS));
  }
}

async function obey({ do: word, with: options }) {
  try {
    say("done", (await words[word](options)) ?? null);
  } catch (error) {
    say("refused", refusal(error));
  }
}

let orders = Promise.resolve();
readline
  .createInterface({ input: process.stdin })
  .on("line", (line) => {
    orders = orders.then(() => obey(JSON.parse(line)));
  })
  .on("close", () => process.exit(0));
