import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.FeatureUpdate;
import org.apache.kafka.clients.admin.ListConfigResourcesOptions;
import org.apache.kafka.clients.admin.NewPartitionReassignment;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.QuorumInfo;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.clients.admin.UpdateFeaturesOptions;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.TopicPartitionReplica;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.quota.ClientQuotaFilter;

/**
 * What Java's AdminClient makes of a cluster of three nodes, line by line.
 *
 * <p>Arguments: bootstrap address, a topic that is not there.
 */
public class AdminCalls {
    private static String topic;
    private static TopicPartition partition;

    public static void main(String[] arguments) throws Exception {
        topic = arguments[1];
        partition = new TopicPartition(topic, 0);
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", arguments[0]))) {
            admin.createTopics(List.of(new NewTopic(topic, Map.of(0, List.of(1, 2))))).all().get();
            reassign(admin);
            quorum(admin);
            features(admin);
            Collection<ConfigResource> resources = admin.listConfigResources().all().get();
            System.out.println("configs of "
                    + resources.stream().filter(it -> it.type() == ConfigResource.Type.BROKER).count() + " nodes");
            System.out.println("configs of the topic: "
                    + resources.contains(new ConfigResource(ConfigResource.Type.TOPIC, topic)));
            System.out.println("metrics of " + admin.listConfigResources(
                    Set.of(ConfigResource.Type.CLIENT_METRICS), new ListConfigResourcesOptions()).all().get());
            System.out.println("passwords of " + admin.describeUserScramCredentials().users().get());
            System.out.println("quotas of " + admin.describeClientQuotas(ClientQuotaFilter.all()).entities().get());
            TopicPartitionReplica replica = new TopicPartitionReplica(topic, 0, 3);
            String here = admin.describeLogDirs(List.of(3)).allDescriptions().get().get(3).keySet().iterator().next();
            say("moved where it is", () -> admin.alterReplicaLogDirs(Map.of(replica, here)).all().get());
            say("moved elsewhere", () -> admin.alterReplicaLogDirs(Map.of(replica, "/elsewhere")).all().get());
        }
    }

    private static void reassign(Admin admin) throws Exception {
        admin.alterPartitionReassignments(Map.of(partition, Optional.of(new NewPartitionReassignment(List.of(3, 2)))))
                .all().get();
        System.out.println("on their way " + admin.listPartitionReassignments().reassignments().get());
        TopicDescription described = admin.describeTopics(List.of(topic)).allTopicNames().get().get(topic);
        System.out.println("on " + described.partitions().get(0).replicas().stream().map(node -> node.id()).toList()
                + " led by " + described.partitions().get(0).leader().id());
        say("taken back", () -> admin.alterPartitionReassignments(Map.of(partition, Optional.empty())).all().get());
        say("to nobody", () -> admin.alterPartitionReassignments(
                Map.of(partition, Optional.of(new NewPartitionReassignment(List.of(9))))).all().get());
    }

    private static void quorum(Admin admin) throws Exception {
        QuorumInfo quorum = admin.describeMetadataQuorum().quorumInfo().get();
        System.out.println("quorum led by " + quorum.leaderId() + " of "
                + quorum.voters().stream().map(QuorumInfo.ReplicaState::replicaId).toList());
    }

    private static void features(Admin admin) throws Exception {
        var features = admin.describeFeatures().featureMetadata().get();
        short level = features.finalizedFeatures().get("metadata.version").maxVersionLevel();
        System.out.println("metadata.version " + level);
        for (int change : new int[] {0, -1, 1}) {
            var type = change < 0 ? FeatureUpdate.UpgradeType.SAFE_DOWNGRADE : FeatureUpdate.UpgradeType.UPGRADE;
            var update = new FeatureUpdate((short) (level + change), type);
            say("metadata.version " + change, () -> admin.updateFeatures(
                    Map.of("metadata.version", update), new UpdateFeaturesOptions().validateOnly(true)).all().get());
        }
    }

    private static void say(String what, Callable<?> call) throws Exception {
        try {
            call.call();
            System.out.println(what + ": done");
        } catch (ExecutionException error) {
            System.out.println(what + ": " + error.getCause().getClass().getSimpleName());
        }
    }
}
