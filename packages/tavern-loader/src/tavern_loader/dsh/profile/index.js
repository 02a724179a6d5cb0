// Made by "tavern-loader install"; "tavern-loader uninstall" takes it away. Loads the bridge from the
// Python environment that is named in installed.json. If that is gone, DSH goes on without it.
import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

export const name = 'tavern-loader';
export const inject = ['systemPrompt', 'agents', 'sessions'];

export async function apply(ctx, config) {
    let bridge;
    let python;
    try {
        const installed = JSON.parse(readFileSync(new URL('./installed.json', import.meta.url), 'utf8'));
        python = installed.python;
        bridge = await import(pathToFileURL(installed.bridge).href);
    } catch (error) {
        process.stderr.write(`tavern-loader: the bridge cannot be loaded: ${error.message}. DSH goes on without`
            + ' Tavern; run "tavern-loader install" again, or "tavern-loader uninstall"\n');
        return;
    }
    await bridge.apply(ctx, { python, ...config });
}
