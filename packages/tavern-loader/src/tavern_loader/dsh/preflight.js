// Trying a call's configuration before the call: what the model refuses is told to Python, which
// takes it back. Without this a setting of a preset could end every turn with an error.

const MOST_TRIES = 4;

/**
 * @param {{config: object, llm: object | undefined, signal: AbortSignal, again: (refused: object) => Promise<object | undefined>}} parts
 *   `again` gives another configuration for a refusal, or undefined
 * @returns {Promise<object>} a configuration that the model takes, or the last one there was
 */
export async function acceptable({ config, llm, signal, again }) {
    if (typeof llm?.resolveCallConfig !== 'function') return config;
    let current = config;
    for (let tries = 0; tries < MOST_TRIES; tries += 1) {
        const refused = await refusal(llm, current, signal);
        if (refused === undefined) return current;
        const next = await again(refused);
        if (next === undefined || JSON.stringify(next) === JSON.stringify(current)) return current;
        current = next;
    }
    return current;
}

async function refusal(llm, config, signal) {
    try {
        await llm.resolveCallConfig(config, signal);
        return undefined;
    } catch (error) {
        if (signal?.aborted) throw error;
        const { code, message, status } = error ?? {};
        return { code: String(code ?? ''), message: String(message ?? '').slice(0, 500), status: status ?? null };
    }
}
