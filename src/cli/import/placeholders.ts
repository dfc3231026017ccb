import type { Placeholders } from './formats.ts'

/** What was read, and what people should know of it. */
export interface Filling {
  /** Says something once. */
  note(text: string): void
}

/** A function, as `$$` has a meaning of its own in a replacement. */
const escaped = (): string => '$${'

type Rewrite = (text: string, filling: Filling) => string

/** A client's text in our form: `${VAR}`, `${VAR:-default}`, `${file:path}`, and `$${` for a plain `${`. */
export const REWRITES: Readonly<Record<Placeholders, Rewrite>> = {
  braces: (text, filling) =>
    text.replace(/\$\{([^}]*)\}/g, (whole, inside: string) => ofBraces(whole, inside, filling)),
  opencode: text =>
    text
      .replaceAll('${', escaped)
      .replace(/\{env:(\w+)\}/g, (_, name: string) => `\${${name}}`)
      .replace(/\{file:([^}]+)\}/g, (_, path: string) => `\${file:${path}}`),
  none: text => text.replaceAll('${', escaped),
}

function ofBraces(whole: string, inside: string, { note }: Filling): string {
  const [kind = '', name = ''] = inside.split(/:(?![-?])/, 2)
  if (kind === 'workspaceFolder' || kind === 'workspaceRoot') {
    note(`${whole} became ".", the directory of gateway.yaml`)
    return '.'
  }
  if (kind === 'userHome') return '${HOME}'
  if (inside === 'pathSeparator' || inside === '/') return '/'
  if (kind === 'input') {
    const variable = variableOf(name)
    note(`${whole}, which the client asks its user for, became the variable ${variable}`)
    return `\${${variable}}`
  }
  return whole
}

function variableOf(name: string): string {
  return name
    .replace(/\W+/g, '_')
    .replace(/^(?=\d)/, '_')
    .toUpperCase()
}
