import { isObject, type JsonObject } from '../../src/plugin.ts'

/** One step of a path: a member by its name, each member, or each item of a list. */
type Step = { readonly member: string } | 'members' | 'items'

const MAX_STEPS = 32

/** Reads a path such as `items[].meta.*.html`, or a name in quotes; a text says what is wrong with it. */
export function readPath(text: string): readonly Step[] | string {
  const steps: Step[] = []
  let rest = text
  while (rest !== '') {
    const dot = steps.length > 0 && !rest.startsWith('[]')
    const found = (dot ? /^\.("(?:[^"\\]|\\.)+"|[^.[\]"]+)/ : /^(\[\]|"(?:[^"\\]|\\.)+"|[^.[\]"]+)/).exec(
      rest,
    )
    const [all, name] = found ?? []
    if (all === undefined || name === undefined) return `"${rest.slice(0, 32)}" is no step of a path`
    steps.push(stepOf(name))
    rest = rest.slice(all.length)
  }
  if (steps.at(-1) === 'items') return 'it ends with "[]", and would leave nothing: name the list'
  return steps.length > MAX_STEPS ? `it has more than ${MAX_STEPS} steps` : steps
}

function stepOf(name: string): Step {
  if (name === '[]') return 'items'
  if (name === '*') return 'members'
  return { member: name.startsWith('"') ? unquoted(name) : name }
}

function unquoted(name: string): string {
  return name.slice(1, -1).replace(/\\(.)/g, '$1')
}

/** The value without what lies at a path; the very same where nothing lies there. */
export function without(value: unknown, [step, ...rest]: readonly Step[]): unknown {
  if (step === undefined) return value
  if (step === 'items') return Array.isArray(value) ? mapped(value, item => without(item, rest)) : value
  if (!isObject(value)) return value
  if (step === 'members') return rest.length === 0 ? {} : eachMember(value, rest)
  const { member } = step
  if (!Object.hasOwn(value, member)) return value
  if (rest.length === 0) return Object.fromEntries(Object.entries(value).filter(([name]) => name !== member))
  const inner = without(value[member], rest)
  return inner === value[member] ? value : { ...value, [member]: inner }
}

function mapped(items: readonly unknown[], change: (item: unknown) => unknown): readonly unknown[] {
  const changed = items.map(change)
  return changed.every((item, index) => item === items[index]) ? items : changed
}

function eachMember(value: JsonObject, rest: readonly Step[]): JsonObject {
  const entries = Object.entries(value).map(([name, inner]) => [name, without(inner, rest)] as const)
  return entries.every(([name, inner]) => inner === value[name]) ? value : Object.fromEntries(entries)
}
