// Python's answer to `assemble`, put into the host's assembly. Pure: only the assembly is changed.

/**
 * @param {{sections: object[], contexts: object[], variables: object}} assembly
 * @param {{replace?: object, keep?: string[] | null, set?: object[], contexts?: object[], variables?: object}} answer
 */
export function applyAnswer(assembly, answer) {
    const { replace, keep = null, set = [], contexts = [], variables = {} } = answer;
    let sections = withTexts(assembly.sections, set);
    if (replace) sections = withParts(sections, replace);
    if (keep !== null) sections = sections.filter(section => isKept(section.name, keep));
    assembly.sections = sections;
    const names = new Set(contexts.map(context => context.name));
    assembly.contexts = [...assembly.contexts.filter(context => !names.has(context.name)), ...contexts];
    assembly.variables = { ...assembly.variables, ...variables };
}

/** Put parts where an empty section stands. One with a text is somebody else's by now. */
function withParts(sections, { name, parts }) {
    const at = sections.findIndex(section => section.name === name);
    if (at < 0 && parts.length > 0) throw new Error(`the section ${name} is not there`);
    return at < 0 || sections[at].text !== '' ? sections : sections.toSpliced(at, 1, ...parts);
}

function withTexts(sections, texts) {
    const byName = new Map(texts.map(({ name, text }) => [name, text]));
    const fill = section => ({ ...section, text: byName.get(section.name) });
    return sections.map(section => (section.text === '' && byName.has(section.name) ? fill(section) : section));
}

function isKept(name, keep) {
    return keep.some(kept => (kept.endsWith(':') ? name.startsWith(kept) : name === kept));
}
