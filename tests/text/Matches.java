import com.google.re2j.Pattern;
import com.google.re2j.PatternSyntaxException;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.List;

/** What RE2/J says: a pattern and texts on each line, as hexadecimal UTF-16, with commas; 1 or 0 for each text, or "bad". */
class Matches {
    public static void main(String[] arguments) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            List<String> texts = new ArrayList<>();
            for (String part : line.split(",", -1)) {
                texts.add(text(part));
            }
            StringBuilder answer = new StringBuilder();
            try {
                Pattern pattern = Pattern.compile(texts.get(0));
                for (String text : texts.subList(1, texts.size())) {
                    answer.append(pattern.matcher(text).matches() ? '1' : '0');
                }
            } catch (PatternSyntaxException error) {
                answer.append("bad");
            } catch (RuntimeException error) {
                answer.append(error.getClass().getSimpleName());
            }
            System.out.println(answer);
        }
    }

    private static String text(String hexadecimal) {
        StringBuilder text = new StringBuilder();
        for (int at = 0; at < hexadecimal.length(); at += 4) {
            text.append((char) Integer.parseInt(hexadecimal.substring(at, at + 4), 16));
        }
        return text.toString();
    }
}
