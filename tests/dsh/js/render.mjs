// Renders texts with the host's own code: `[{text, variables}]` on stdin; on stdout what came of each,
// or how it failed.
import { pathToFileURL } from 'node:url';

const { renderPrompt, renderContextSnapshot } = await import(pathToFileURL(process.argv[2]).href);
let input = '';
for await (const chunk of process.stdin) input += chunk;
const answers = JSON.parse(input).map(({ text, variables }) => {
    try {
        const sections = [{ name: 'a', text }];
        const contexts = renderContextSnapshot({ contexts: sections, variables });
        return { section: renderPrompt({ sections, variables }), context: contexts.slice(contexts.indexOf('\n\n') + 2) };
    } catch (error) {
        return { error: error.message };
    }
});
process.stdout.write(JSON.stringify(answers));
