import java.lang.reflect.Method;
import org.apache.kafka.common.utils.Exit;

/** Runs kafka-transactions.sh with each argument as its command line, and says with which exit code it ended. */
class TransactionsTool {
    private static class Ended extends RuntimeException {
        final int code;

        Ended(int code) {
            this.code = code;
        }
    }

    public static void main(String[] commands) throws Exception {
        System.setErr(System.out);
        Exit.setExitProcedure((code, message) -> {
            throw new Ended(code);
        });
        Class<?> tool = Class.forName("org.apache.kafka.tools.TransactionsCommand");
        Method run = tool.getDeclaredMethod("main", String[].class);
        for (String command : commands) {
            System.out.println("$ " + command.substring(command.indexOf(' ', command.indexOf(' ') + 1) + 1));
            try {
                run.invoke(null, (Object) command.split(" "));
            } catch (java.lang.reflect.InvocationTargetException thrown) {
                if (!(thrown.getCause() instanceof Ended ended)) {
                    throw thrown;
                }
                System.out.println("exit " + ended.code);
            }
        }
        System.exit(0);
    }
}
