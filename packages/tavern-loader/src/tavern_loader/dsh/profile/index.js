// Made by "tavern-loader install"; "tavern-loader uninstall" takes it away. Loads the bridge from the
// Python environment that is named in installed.json. If that is gone, DSH goes on without it.
import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

export const name = 'tavern-loader';

let bridge;
let python;

try {
    const installed = JSON.parse(readFileSync(new URL('./installed.json', import.meta.url), 'utf8'));
    bridge = await import(pathToFileURL(installed.bridge).href);
    python = installed.python;
    bridge.prepare(python);
} catch (error) {
    process.stderr.write(`tavern-loader: the bridge cannot be loaded: ${error.message}. DSH goes on without`
        + ' Tavern; run "tavern-loader install" again, or "tavern-loader uninstall"\n');
}

export function apply(ctx, config) {
    bridge?.apply(ctx, { python, ...config });
}
