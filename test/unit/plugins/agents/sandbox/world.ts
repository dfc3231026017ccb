import { execFileSync } from 'node:child_process'
import {
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { Roots } from '../../../../../plugins/agents/allowed-paths.ts'
import { cleanup } from '../../../../fixtures/cleanup.ts'

export const SECRET = 'the secret of somebody else'
export const NOWHERE = 'is not there'

/** A world with a root, its twin, and what lies outside; `files` and `directories` are attacks on it, as paths. */
export async function aWorld(t: TestContext) {
  const world = realpathSync(mkdtempSync(join(tmpdir(), 'contain-')))
  cleanup(t, () => rmSync(world, { recursive: true, force: true }))
  const [root, twin, outside] = ['work', 'work2', 'outside'].map(name => join(world, name)) as [string, string, string]
  for (const folder of [root, twin, outside, join(root, 'sub'), join(outside, 'deep'), join(twin, 'sub')])
    mkdirSync(folder, { recursive: true })
  for (const folder of [twin, outside, join(outside, 'deep'), join(twin, 'sub')])
    writeFileSync(join(folder, 'secret'), SECRET)
  writeFileSync(join(root, 'fine'), 'fine')
  writeFileSync(join(root, 'sub', 'fine'), 'fine')
  const server = createServer().listen(join(root, 'socket'))
  cleanup(t, () => server.close())
  await new Promise(resolve => server.once('listening', resolve))
  execFileSync('mkfifo', [join(root, 'fifo'), join(root, 'sub', 'fifo')])
  const roots = new Roots(['work'], world)
  return { world, root, twin, outside, roots }
}

export type World = Awaited<ReturnType<typeof aWorld>>

/** Links inside of the root, by name, and where they lead. */
export function plant({ root, outside, twin, world }: World): void {
  const links: Record<string, string> = {
    'to-secret': join(outside, 'secret'),
    'to-outside': outside,
    'to-twin': twin,
    'to-world': world,
    'to-passwd': '/etc/passwd',
    'to-nothing-outside': join(outside, NOWHERE),
    'to-link': 'to-outside',
    'to-link-file': 'to-link/secret',
    'to-itself': 'to-itself',
    'to-proc-root': '/proc/self/root',
    'to-proc-file': `/proc/self/root${outside}/secret`,
    'to-null': '/dev/null',
    'to-dots': '../../../../../../../../../etc/passwd',
    'sub/up': '../../outside',
    'sub/up-file': '../../outside/secret',
  }
  for (const [name, target] of Object.entries(links)) symlinkSync(target, join(root, name))
  linkSync(join(outside, 'secret'), join(root, 'hard'))
  linkSync(join(outside, 'deep', 'secret'), join(root, 'sub', 'hard'))
}

/** Paths that lead out, or to what is no file. */
export function pathsOf({ root, outside, twin, world }: World): string[] {
  const links = [...readdirSync(root), ...readdirSync(join(root, 'sub')).map(name => `sub/${name}`)].filter(name =>
    lstatSync(join(root, name)).isSymbolicLink(),
  )
  const inside = links.map(name => join(root, name))
  const through = links.map(name => `${root}/${name}/secret`)
  const written = [
    `${root}/../outside/secret`,
    `${root}//..//outside//secret`,
    `${root}/to-outside/../work2/secret`,
    `${root}/to-outside/../work/../outside/secret`,
    `${root}/${NOWHERE}/../../outside/secret`,
    `${root}/fine/../../outside/secret`,
    ...['..', '../..', '../../../../../../../../../..'].map(up => `${root}/${up}`),
    ...['2', '2/secret', ' ', '\u200b/secret'].map(end => `${root}${end}`),
    `${root}/．．/outside/secret`,
    `${root}/%2e%2e/outside/secret`,
    `${root}\\..\\outside\\secret`,
    `${root}/\ud800/../../outside/secret`,
    ...[`${root}/fine\0.txt`, `${root}\0/../outside/secret`, '\0', '', '.', '..', '/', '//'],
    ...[world, outside, `${outside}/secret`, `${twin}/secret`, `//${outside}/secret`],
    `/proc/self/root${outside}/secret`,
    `/proc/self/root${root}/fine`,
    ...['/proc/self/environ', '/proc/self/cwd', '/proc/1/root/etc/passwd', '/dev/null', '/etc/passwd'],
    ...['fine/../../outside/secret', '../outside/secret', 'to-outside/secret', 'to-secret', 'sub/up-file'],
    ...['~/secret', '~root/.profile', `file://${outside}/secret`, `file://${root}/fine`],
    ...['socket', 'fifo', 'sub/fifo', 'hard', 'sub/hard', 'fine/', 'fine/..', 'fine/x'].map(name => `${root}/${name}`),
    `${root}/${'a/../'.repeat(2000)}../outside/secret`,
    `${root}/${'x'.repeat(5000)}`,
  ]
  return [...written, ...inside, ...through]
}
