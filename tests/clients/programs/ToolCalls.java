import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.Config;
import org.apache.kafka.clients.admin.DescribeClusterOptions;
import org.apache.kafka.clients.admin.DescribeConfigsOptions;
import org.apache.kafka.clients.admin.ListConsumerGroupOffsetsSpec;
import org.apache.kafka.clients.admin.ListTopicsOptions;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.acl.AccessControlEntry;
import org.apache.kafka.common.acl.AccessControlEntryFilter;
import org.apache.kafka.common.acl.AclBinding;
import org.apache.kafka.common.acl.AclBindingFilter;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.acl.AclPermissionType;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.quota.ClientQuotaFilter;
import org.apache.kafka.common.resource.PatternType;
import org.apache.kafka.common.resource.ResourcePattern;
import org.apache.kafka.common.resource.ResourcePatternFilter;
import org.apache.kafka.common.resource.ResourceType;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * The calls that AKHQ and Kafka UI make before they show a cluster, in the order in which they make them.
 *
 * <p>AKHQ: AbstractKafkaWrapper, for the pages of nodes, topics, groups and ACLs. Kafka UI (kafbat): ReactiveAdminClient,
 * ScrapedClusterState, StatisticsService, and what its pages add.
 *
 * <p>Arguments: bootstrap address, a topic of two partitions with a record in the first, a group that is not there.
 */
public class ToolCalls {
    private static Admin admin;
    private static String bootstrap;
    private static String topic;
    private static String group;
    private static List<TopicPartition> partitions;

    public static void main(String[] arguments) throws Exception {
        bootstrap = arguments[0];
        topic = arguments[1];
        group = arguments[2];
        partitions = List.of(new TopicPartition(topic, 0), new TopicPartition(topic, 1));
        try (Admin made = Admin.create(Map.of("bootstrap.servers", bootstrap))) {
            admin = made;
            admin.alterConsumerGroupOffsets(group, Map.of(partitions.get(0), new OffsetAndMetadata(1))).all().get();
            akhq();
            kafkaUi();
        }
    }

    @SuppressWarnings("removal") // as AKHQ and Kafka UI do
    private static void akhq() throws Exception {
        System.out.println("AKHQ");
        say("cluster", () -> {
            var cluster = admin.describeCluster();
            return cluster.nodes().get().contains(cluster.controller().get()) && !cluster.clusterId().get().isEmpty();
        });
        say("topics", () -> admin.listTopics(new ListTopicsOptions().listInternal(true)).listings().get().stream()
                .filter(it -> it.name().equals(topic) || it.name().startsWith("__consumer"))
                .map(it -> it.isInternal() ? "internal" : "ordinary").sorted().toList());
        say("topic", () -> shape(admin.describeTopics(List.of(topic)).allTopicNames().get()));
        say("offsets", ToolCalls::offsets);
        say("groups", () -> admin.listConsumerGroups().all().get().stream().filter(it -> it.groupId().equals(group))
                .map(it -> it.groupState().get() + " " + it.isSimpleConsumerGroup()).toList());
        say("group", () -> {
            var described = admin.describeConsumerGroups(List.of(group)).all().get().get(group);
            return described.groupState() + " " + described.members();
        });
        say("committed", () -> committed(
                admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata().get()));
        say("directories", () -> directories(admin.describeCluster().nodes().get()));
        say("topic's configs", () -> names(ConfigResource.Type.TOPIC, topic, new DescribeConfigsOptions())
                .contains("retention.ms"));
        say("all ACLs", () -> admin.describeAcls(AclBindingFilter.ANY).values().get());
        say("topic's ACLs", () -> admin.describeAcls(new AclBindingFilter(
                new ResourcePatternFilter(ResourceType.TOPIC, topic, PatternType.LITERAL),
                AccessControlEntryFilter.ANY)).values().get());
    }

    private static void kafkaUi() throws Exception {
        System.out.println("Kafka UI");
        Node controller = admin.describeCluster().controller().get();
        ConfigResource node = new ConfigResource(ConfigResource.Type.BROKER, controller.idString());
        say("deletion", () -> admin.describeConfigs(List.of(node)).all().get().get(node)
                .get("delete.topic.enable").value());
        say("features", () -> admin.describeFeatures().featureMetadata().get().finalizedFeatures()
                .get("metadata.version").maxVersionLevel() > 0);
        say("all ACLs", () -> admin.describeAcls(AclBindingFilter.ANY).values().get());
        say("rights", () -> new TreeSet<>(admin.describeCluster(
                new DescribeClusterOptions().includeAuthorizedOperations(true)).authorizedOperations().get()));
        say("directories", () -> directories(admin.describeCluster().nodes().get()));
        Set<String> topics = admin.listTopics(new ListTopicsOptions().listInternal(true)).names().get();
        Map<String, TopicDescription> described = admin.describeTopics(topics).allTopicNames().get();
        say("topics", () -> described.keySet().equals(topics));
        say("topics' configs", () -> admin.describeConfigs(
                topics.stream().map(it -> new ConfigResource(ConfigResource.Type.TOPIC, it)).toList(),
                new DescribeConfigsOptions().includeSynonyms(true)).all().get().size() == topics.size());
        List<TopicPartition> all = described.values().stream().flatMap(it -> IntStream
                .range(0, it.partitions().size()).mapToObj(index -> new TopicPartition(it.name(), index))).toList();
        for (OffsetSpec spec : List.of(OffsetSpec.latest(), OffsetSpec.earliest())) {
            say("offsets", () -> admin.listOffsets(all.stream().collect(Collectors.toMap(it -> it, it -> spec)))
                    .all().get().get(partitions.get(0)).offset());
        }
        say("committed", () -> committed(admin.listConsumerGroupOffsets(
                Map.of(group, new ListConsumerGroupOffsetsSpec())).all().get().get(group)));
        say("quorum", () -> {
            var quorum = admin.describeMetadataQuorum().quorumInfo().get();
            return quorum.voters().stream().anyMatch(it -> it.replicaId() == quorum.leaderId());
        });
        say("broker's configs", () -> names(ConfigResource.Type.BROKER, controller.idString(),
                new DescribeConfigsOptions().includeSynonyms(true)).contains("log.retention.hours"));
        say("producers", () -> admin.describeProducers(partitions).all().get().get(partitions.get(1))
                .activeProducers());
        say("quotas", () -> admin.describeClientQuotas(ClientQuotaFilter.all()).entities().get());
        AclBinding rule = new AclBinding(new ResourcePattern(ResourceType.TOPIC, topic, PatternType.LITERAL),
                new AccessControlEntry("User:ana", "*", AclOperation.READ, AclPermissionType.ALLOW));
        say("new ACL", () -> admin.createAcls(List.of(rule)).all().get());
        say("no ACL", () -> admin.deleteAcls(List.of(rule.toFilter())).all().get());
        say("reassignments", () -> admin.listPartitionReassignments().reassignments().get());
    }

    private static String shape(Map<String, TopicDescription> described) {
        return described.get(topic).partitions().stream()
                .map(it -> it.replicas().size() + "/" + it.isr().size()).toList().toString();
    }

    private static String offsets() {
        try (var consumer = new KafkaConsumer<>(
                Map.of("bootstrap.servers", bootstrap), new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            var begins = consumer.offsetsForTimes(partitions.stream().collect(Collectors.toMap(it -> it, it -> 0L)));
            var ends = consumer.endOffsets(partitions);
            return partitions.stream().map(it -> (begins.get(it) == null ? "none" : begins.get(it).offset() + "")
                    + " to " + ends.get(it)).toList().toString();
        }
    }

    private static String committed(Map<TopicPartition, OffsetAndMetadata> offsets) {
        return offsets.entrySet().stream().map(it -> it.getKey().partition() + ": " + it.getValue().offset())
                .toList().toString();
    }

    private static String directories(Collection<Node> nodes) throws Exception {
        var all = admin.describeLogDirs(nodes.stream().map(Node::id).toList()).allDescriptions().get();
        var found = all.values().stream().flatMap(it -> it.values().stream())
                .flatMap(it -> it.replicaInfos().entrySet().stream()).filter(it -> it.getKey().topic().equals(topic))
                .map(it -> it.getKey().partition() + (it.getValue().size() > 0 ? " full" : " empty")).sorted();
        return all.size() + " node, " + found.toList();
    }

    private static Set<String> names(ConfigResource.Type type, String name, DescribeConfigsOptions options)
            throws Exception {
        ConfigResource resource = new ConfigResource(type, name);
        Config config = admin.describeConfigs(List.of(resource), options).all().get().get(resource);
        return config.entries().stream().map(it -> it.name()).collect(Collectors.toCollection(TreeSet::new));
    }

    private static void say(String what, Callable<?> call) throws Exception {
        try {
            System.out.println(what + ": " + call.call());
        } catch (ExecutionException failed) {
            System.out.println(what + ": " + failed.getCause().getClass().getSimpleName());
        }
    }
}
