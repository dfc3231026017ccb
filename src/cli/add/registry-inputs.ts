import type { JsonObject } from '../../protocol/json/json.ts'
import { isObject } from '../../protocol/json/json.ts'
import { readMap, readText } from '../../util/plain-data.ts'
import { toOneLine } from '../../util/plain-text.ts'

/** Input value target. */
export type InputKind = 'env' | 'header' | 'arg'

/** Value that the user provides. */
export interface Input {
  readonly kind: InputKind
  readonly name: string
  readonly description: string
  readonly isRequired: boolean
  readonly isSecret: boolean
  readonly fallback: string | undefined
  readonly choices: readonly string[]
}

/** Values by kind and name, such as `env API_KEY`. They may contain references such as `${API_KEY}`. */
export type Answers = ReadonlyMap<string, string>

export function getInputKey({ kind, name }: Pick<Input, 'kind' | 'name'>): string {
  return `${kind} ${kind === 'header' ? name.toLowerCase() : name}`
}

/** Escapes references in registry text, which could otherwise run programs and read files. */
export function escapeReferences(text: string): string {
  return text.replaceAll('${', () => '$${')
}

/** Registry value, fixed or prompted for. */
export interface InputValue {
  readonly inputs: readonly Input[]
  /** Fills in the answers; undefined if the value is omitted. */
  readonly value: (answers: Answers) => string | undefined
}

/** Parses a `server.json` input. Variables in a fixed value become inputs. */
export function parseInputValue(definition: JsonObject, kind: InputKind, name: string): InputValue {
  const value = readText(definition, 'value')
  const variables = Object.entries(readMap(definition, 'variables')).filter(([, about]) => isObject(about))
  if (value === undefined) return createPromptedValue(parseInput(definition, kind, name))
  const own = variables.map(([variable, about]) => parseInput(about as JsonObject, 'arg', variable))
  const inputsByName = new Map(own.map(input => [input.name, input]))
  return {
    inputs: own,
    value: answers =>
      escapeReferences(value).replace(/\{([\w.-]+)\}/g, (placeholder, variable: string) => {
        const input = inputsByName.get(variable)
        return input === undefined ? placeholder : (getAnswer(input, answers) ?? '')
      }),
  }
}

function createPromptedValue(input: Input): InputValue {
  return { inputs: [input], value: answers => getAnswer(input, answers) }
}

/** Returns the given value or the registry default. */
export function getAnswer(input: Input, answers: Answers): string | undefined {
  const { fallback } = input
  return answers.get(getInputKey(input)) ?? (fallback === undefined ? undefined : escapeReferences(fallback))
}

function parseInput(definition: JsonObject, kind: InputKind, name: string): Input {
  const choices = Array.isArray(definition.choices) ? definition.choices.filter(one => typeof one === 'string') : []
  return {
    ...{ kind, name, choices },
    description: toOneLine(readText(definition, 'description') ?? '').slice(0, 200),
    isRequired: definition.isRequired === true,
    isSecret: definition.isSecret === true,
    fallback: readText(definition, 'default'),
  }
}

/** Lists required inputs without a value. */
export function findMissingInputs(inputs: readonly Input[], answers: Answers): Input[] {
  return inputs.filter(input => input.isRequired && (getAnswer(input, answers) ?? '') === '')
}

export function formatFlag({ kind, name }: Input): string {
  return kind === 'header' ? `--header '${name}: …'` : `--${kind} ${name}=…`
}
