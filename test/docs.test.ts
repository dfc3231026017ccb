import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path/posix'
import { test } from 'node:test'
import { COMMANDS } from '../src/cli/run-command.ts'
import { ROOT } from './guard/sources.ts'

const DOCUMENTS = globSync(['*.md', 'docs/**/*.md', 'deploy/*.md', '{examples,plugins}/*/README.md'], {
  cwd: ROOT,
}).map(file => file.replaceAll('\\', '/'))
/** Folders that paths in prose begin with; those of `src` may leave that out. */
const TOP = /^(?:src|plugins|test|scripts|docs|examples|schemas|bin|\.ci|\.github)\//
/** A file of the reader's. */
const EXAMPLES = /^plugins\/(?:budget|my-plugin)\b/
const ROOMS = globSync('src/*/', { cwd: ROOT }).map(folder => folder.replace(/^src[\\/]|[\\/]$/g, ''))

for (const document of DOCUMENTS)
  test(`the links and files that ${document} names are there`, () => {
    const text = prose(read(document))
    const links = linksOf(text).filter(link => !existsSync(join(ROOT, dirname(document), link)))
    const files = filesOf(text).filter(file => !existsSync(join(ROOT, file)) && !existsSync(join(ROOT, 'src', file)))

    assert.deepEqual([...links, ...files], [])
  })

for (const document of DOCUMENTS)
  test(`the headings that ${document} links to exist`, () => {
    const anchors = [...prose(read(document)).matchAll(/\]\((?!\w+:)([^)#\s]*)#([\w-]+)\)/g)]
    const missing = anchors.filter(([, link = '', anchor = '']) => {
      const file = link === '' ? document : join(dirname(document), link)
      return !file.endsWith('.md') || !headingIds(read(file)).has(anchor)
    })

    assert.deepEqual(
      missing.map(([link]) => link),
      [],
    )
  })

test('the pages that error hints and findings name exist', () => {
  const sources = globSync(['src/**/*.ts', 'plugins/**/*.{ts,json}'], { cwd: ROOT })
  const pages = sources.flatMap(file => [...read(file).matchAll(/(?<=[ ('"`])docs\/[\w/-]+\.md/g)].flat())
  const foreign = new Set(['docs/gen-ai/mcp.md'])

  assert.deepEqual(
    pages.filter(page => !foreign.has(page) && !existsSync(join(ROOT, page))),
    [],
  )
})

test('what the documents in the package link to is in the package', () => {
  const packed = packedFiles()
  const isPacked = (path: string): boolean => packed.some(file => file === path || file.startsWith(`${path}/`))
  const dead = packed
    .filter(file => file.endsWith('.md'))
    .flatMap(file =>
      linksOf(prose(read(file)))
        .map(link => normalize(join(dirname(file), link)).replace(/\/$/, ''))
        .filter(path => !isPacked(path))
        .map(path => `${file}: ${path}`),
    )

  assert.deepEqual(dead, [])
})

test('the lines of README.md fit a screen', () => {
  const long = read('README.md')
    .replaceAll(/\]\([^)]*\)/g, ']')
    .split('\n')
    .filter(line => line.length > 120)

  assert.deepEqual(long, [])
})

for (const document of DOCUMENTS)
  test(`the commands in ${document} exist, with the flags that they name`, () => {
    const blocks = [...read(document).matchAll(/^ *```(?:sh|console)\n([^]*?)^ *```$/gm)].map(([, block = '']) => block)
    const lines = blocks.flatMap(block => [...block.matchAll(/^(?:\$ )?gateway ([a-z].*)$/gm)])
    const unknown = lines.map(([, line = '']) => line.replace(/ (?:#|\|).*/, '')).filter(line => !isCommand(line))

    assert.deepEqual(unknown, [])
  })

for (const document of DOCUMENTS)
  test(`the client entries in ${document} are named gateway`, () => {
    const commands = read(document).matchAll(/\b\w+ mcp add (?:-\S+ (?:"[^"]*"|user|http) )*([\w-]+)/g)
    const entries = read(document).matchAll(/\{"(?:mcpServers|servers|mcp)": ?\{"([\w-]+)"/g)

    assert.deepEqual(
      [...commands, ...entries].filter(([, name]) => name !== 'gateway').map(([text]) => text),
      [],
    )
  })

function isCommand(line: string): boolean {
  const words = line.split(/\s+/)
  const { flags } = COMMANDS[words.slice(0, 2).join(':')] ?? COMMANDS[words[0] ?? ''] ?? {}
  const given = words.flatMap(word => /^--(?:no-)?([\w-]+)/.exec(word)?.[1] ?? [])
  return flags !== undefined && given.every(name => name === 'help' || name in flags || `no-${name}` in flags)
}

function read(file: string): string {
  return readFileSync(join(ROOT, file), 'utf8')
}

/** Leaves out blocks of code, whose brackets and paths are examples. */
function prose(text: string): string {
  return text.replace(/^ *(`{3,})[^]*?^ *\1$/gm, '')
}

/** The ids that GitHub gives to the headings of a document. */
function headingIds(text: string): Set<string> {
  const titles = [...prose(text).matchAll(/^#+ (.+)$/gm)].map(([, title = '']) => title)
  return new Set(
    titles.map(title =>
      title
        .toLowerCase()
        .replace(/[^\w\- ]/g, '')
        .replaceAll(' ', '-'),
    ),
  )
}

/** The relative links, without what follows `#`. */
function linksOf(text: string): string[] {
  return [...text.matchAll(/\]\((?!\w+:|#)([^)#\s]+)/g)].map(([, link = '']) => link)
}

/** The paths in backticks that begin with a folder of the project, up to the first placeholder. */
function filesOf(text: string): string[] {
  return [...text.matchAll(/`([\w.-]+(?:\/[\w.-]+)+\/?)`/g)]
    .map(([, path = '']) => path)
    .filter(path => !EXAMPLES.test(path))
    .filter(path => TOP.test(path) || (ROOMS.includes(path.split('/')[0] ?? '') && /\.\w+$/.test(path)))
}

function packedFiles(): string[] {
  const flags = ['pack', '--dry-run', '--json', '--ignore-scripts']
  const printed = execFileSync('npm', flags, {
    cwd: ROOT,
    encoding: 'utf8',
    shell: process.platform === 'win32',
  })
  const [{ files }] = JSON.parse(printed) as [{ files: { path: string }[] }]
  return files.map(({ path }) => path)
}
