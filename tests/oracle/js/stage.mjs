// What stands in for the rest of SillyTavern: values that a case sets, and a hollow object for
// everything that only touches the page.

/** Callable, constructible, and every property of it is itself again. */
export const hollow = new Proxy(function () { }, {
    get(_target, name) {
        if (name === Symbol.toPrimitive) return () => '';
        if (name === Symbol.iterator) return function* () { };
        if (name === 'then') return undefined;
        return name === 'length' ? 0 : hollow;
    },
    apply: () => hollow,
    construct: () => hollow,
    set: () => true,
});

/** Gives the values of imports by name, and passes on a change of one. */
export class Stage {
    #values;
    #watchers = new Map();

    constructor(values) {
        this.#values = values;
    }

    initial(name) {
        return Object.hasOwn(this.#values, name) ? this.#values[name] : hollow;
    }

    watch(name, watcher) {
        if (!this.#watchers.has(name)) this.#watchers.set(name, []);
        this.#watchers.get(name).push(watcher);
    }

    set(name, value) {
        this.#values[name] = value;
        for (const watcher of this.#watchers.get(name) ?? []) watcher(value);
    }
}

/** How a case may count tokens; an empty text has none. */
export const TOKENIZERS = {
    len4: text => Math.ceil(text.length / 4),
    words: text => text.match(/\S+/g)?.length ?? 0,
    chars: text => [...text].length,
};

/** The few macros that cases use; everything else stays as it is. */
export function expandMacros(content, names) {
    if (!content) return '';
    const values = { user: names.user, char: names.char, noop: '', newline: '\n', space: ' ' };
    return String(content).replace(
        /\{\{(user|char|noop|newline|space)\}\}/gi, (_, name) => values[name.toLowerCase()],
    );
}
