import { readFileSync } from 'node:fs'

/** Creates llms.txt (llmstxt.org) from the index of the documentation. */
export function createLlmsText(root: URL): string {
  const index = readFileSync(new URL('docs/README.md', root), 'utf8')
  const sections = index.slice(index.indexOf('\n## '))
  const links = sections.replaceAll(/\]\((?!\w+:)([^)]+)\)/g, (_, path: string) => `](${resolvePath(path)})`)
  const { description } = JSON.parse(readFileSync(new URL('package.json', root), 'utf8')) as { description: string }
  return `# tapgate\n\n> ${description}: one address in front of all MCP servers, with the commands \`gateway\` and \`tapgate\`.

[SKILL.md](skills/tapgate/SKILL.md) teaches coding agents the command line. \`gateway <command> --help\`,
\`gateway help config <key>\` and \`--json\` work everywhere.
${links}`
}

/** Resolves a link of docs/README.md against the root. */
function resolvePath(path: string): string {
  return new URL(path, 'file:///docs/').pathname.slice(1)
}
