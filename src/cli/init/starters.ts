import type { FoundServer } from './find-servers.ts'

/** Something to begin with where no client has a server: from npm, so Node is all they need. */
export const STARTERS: readonly (FoundServer & { readonly title: string })[] = [
  {
    name: 'files',
    title: 'read and write the files of this directory',
    upstream: npx('@modelcontextprotocol/server-filesystem', '.'),
    from: ['a starter'],
  },
  {
    name: 'memory',
    title: 'a notebook that the model keeps',
    upstream: npx('@modelcontextprotocol/server-memory'),
    from: ['a starter'],
  },
  {
    name: 'everything',
    title: 'one of each thing that MCP has, to try out',
    upstream: npx('@modelcontextprotocol/server-everything'),
    from: ['a starter'],
  },
]

function npx(name: string, ...args: string[]): FoundServer['upstream'] {
  return { type: 'stdio', command: 'npx', args: ['-y', name, ...args] }
}
