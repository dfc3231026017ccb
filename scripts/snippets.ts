import { readFileSync } from 'node:fs'

// <!-- snippet: examples/quickstart/gateway.yaml#listeners -->
// ```yaml
// … the file, or what stands in it between `#region listeners` and `#endregion listeners`
// ```
const SNIPPET =
  /^<!-- snippet: (?<path>[^#\s]+)(?:#(?<region>[\w-]+))? -->\n\n?(?<fence>`{3,})(?<language>\S*)\n(?<body>[^]*?)^\k<fence>$/gm
const MARK = /^<!-- snippet:/gm
const REGION = /^\s*(?:\/\/|#|<!--)\s*#(?:end)?region\b/

/** Updates all snippets in `markdown`; paths are relative to `root`. */
export function withFreshSnippets(markdown: string, root: URL): string {
  let count = 0
  const fresh = markdown.replace(SNIPPET, (whole, ...rest) => {
    count++
    const groups = rest.at(-1) as { path: string; region?: string; body: string }
    const body = readSnippet(new URL(groups.path, root), groups.region)
    return whole.replace(/\n`{3,}\S*\n[^]*$/, opening => replaceBody(opening, body))
  })
  const marks = markdown.match(MARK)?.length ?? 0
  if (count !== marks) throw new Error(`${marks - count} of ${marks} snippet comments are not followed by a code fence`)
  return fresh
}

function replaceBody(fenced: string, body: string): string {
  const lines = fenced.slice(1).split('\n')
  return `\n${lines[0] ?? ''}\n${body}${lines.at(-1) ?? ''}`
}

function readSnippet(file: URL, region: string | undefined): string {
  const lines = readFileSync(file, 'utf8').trimEnd().split('\n')
  const part = region === undefined ? lines : between(lines, region, file)
  return `${dedent(part.filter(line => !REGION.test(line))).join('\n')}\n`
}

function between(lines: readonly string[], region: string, { pathname }: URL): readonly string[] {
  const at = (word: string) => lines.findIndex(line => new RegExp(`#${word} ${region}\\b`).test(line))
  const [start, end] = [at('region'), at('endregion')]
  if (start < 0 || end < start) throw new Error(`${pathname} has no region "${region}"`)
  return lines.slice(start + 1, end)
}

function dedent(lines: readonly string[]): string[] {
  const indents = lines.filter(line => line.trim() !== '').map(line => line.length - line.trimStart().length)
  const indent = indents.length === 0 ? 0 : Math.min(...indents)
  return lines.map(line => line.slice(indent))
}
