import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'
import type { Command } from '@oclif/core/command'
import { boolean, string } from '@oclif/core/flags'
import { manPages } from '../../../scripts/man-pages.ts'
import { COMMANDS } from '../../../src/cli/commands.ts'

const FACTS = { version: '1.2.3', description: 'A gateway', topics: { service: 'From login on.' } }
const hasMan = spawnSync('groff', ['--version']).status === 0

/** A page as a terminal of 80 columns shows it, and what groff finds wrong with it. */
function shown(page: string): { text: string; warnings: string } {
  const { stdout, stderr } = spawnSync('groff', ['-man', '-Tascii', '-ww', '-P-cbou', '-rLL=80n'], {
    input: page,
    encoding: 'utf8',
  })
  return { text: stdout, warnings: stderr }
}

/** Flags that have an entry of their own. */
function tags(page: string): string[] {
  const lines = page.match(/(?<=^\.TP\n).*$/gm) ?? []
  return lines.flatMap(line => line.match(/\\-\\-[^\\\s]+(\\-[^\\\s]+)*/g) ?? []).map(flagIn)
}

function flagIn(tag: string): string {
  return tag.replaceAll('\\', '').replace('[no-]', '')
}

test('every command that help lists has a page, and each of its flags stands in it', () => {
  const pages = manPages(COMMANDS, FACTS)

  for (const [id, command] of Object.entries(COMMANDS)) {
    if (command.hidden) continue
    const page = pages.get(`gateway-${id.replaceAll(':', '-')}.1`) ?? ''
    for (const [name, { hidden }] of Object.entries(command.flags))
      assert.equal(tags(page).includes(`--${name}`), hidden !== true, `${id} --${name}`)
    assert.match(pages.get('gateway.1') ?? '', new RegExp(`\\\\fB${id.replaceAll(':', ' ')}`))
  }
})

test('every line of a page is a request that man knows, or text that is no request', () => {
  const macros = /^\.(TH|SH|TP|PP|B|I|nf|fi|\\")( |$)/
  for (const [file, page] of manPages(COMMANDS, FACTS)) {
    assert.match(page, /^\.\\".*\n\.TH /, file)
    assert.match(page, /^[\n\x20-\x7e]*$/, `${file} has a letter that is not ASCII`)
    for (const line of page.split('\n'))
      if (/^[.']/.test(line)) assert.match(line, macros, `${file}: ${line}`)
  }
})

test('text that looks like a request or an escape is shown as it is', t => {
  if (!hasMan) return t.skip('there is no groff')
  const odd = {
    summary: 'Says "yes" – and \\fBno\\fR.',
    description: ".so /etc/passwd\n'\\n is here",
    examples: ["gateway odd '\\d+' --flag=-x"],
    args: {},
    flags: { flag: string({ summary: '.de is no macro', default: 'a-b' }), off: boolean({ hidden: true }) },
  } as unknown as Command.Class
  const { text, warnings } = shown(manPages({ odd }, FACTS).get('gateway-odd.1') ?? '')

  assert.equal(warnings, '')
  assert.match(text, /"yes" - and \\fBno\\fR\.[^]*\.so \/etc\/passwd '\\n is here/)
  assert.match(text, /\.de is no macro Default: a-b\./)
  assert.match(text, /gateway odd '\\d\+' --flag=-x/)
  assert.doesNotMatch(text, /--off/)
})

test('groff finds no fault with any page', t => {
  if (!hasMan) return t.skip('there is no groff')
  assert.equal(shown([...manPages(COMMANDS, FACTS).values()].join('')).warnings, '')
})
