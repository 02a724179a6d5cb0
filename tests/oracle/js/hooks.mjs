// Module hooks: the files named at start are loaded as they are, and every other module that one
// of them imports becomes a module of stand-ins with the same names. No source text is changed.
import { fileURLToPath, pathToFileURL } from 'node:url';

let real = new Set();
let namesOf = {};

/** @param {{real: string[], namesOf: Record<string, string[]>}} data paths, and names per path */
export async function initialize(data) {
    real = new Set(data.real);
    namesOf = data.namesOf;
}

export async function resolve(specifier, context, nextResolve) {
    const parent = context.parentURL?.startsWith('file:') ? fileURLToPath(context.parentURL) : null;
    if (!real.has(parent)) return nextResolve(specifier, context);
    const path = fileURLToPath(new URL(specifier, context.parentURL));
    const url = real.has(path) ? pathToFileURL(path).href : `stand-in:${path}`;
    return { url, format: 'module', shortCircuit: true };
}

export async function load(url, context, nextLoad) {
    if (!url.startsWith('stand-in:')) return nextLoad(url, context);
    const names = namesOf[url.slice('stand-in:'.length)] ?? [];
    // `let` and a watcher: an import is a live binding, so a case can give it another value.
    const lines = names.map((name, at) => [
        `let value${at} = stage.initial(${JSON.stringify(name)});`,
        `stage.watch(${JSON.stringify(name)}, value => { value${at} = value; });`,
        `export { value${at} as ${name} };`,
    ].join('\n'));
    const source = ['const stage = globalThis.oracleStage;', ...lines].join('\n');
    return { format: 'module', shortCircuit: true, source };
}
