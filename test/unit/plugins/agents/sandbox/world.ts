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
import { Roots } from '../../../../../plugins/agents/paths.ts'
import { cleanup } from '../../../../fixtures/cleanup.ts'

export const SECRET = 'the secret of somebody else'
export const NOWHERE = 'is not there'

/** A world with a root, its twin, and what lies outside; `files` and `directories` are attacks on it, as paths. */
export async function aWorld(t: TestContext) {
  const world = realpathSync(mkdtempSync(join(tmpdir(), 'contain-')))
  cleanup(t, () => rmSync(world, { recursive: true, force: true }))
  const [root, twin, outside] = ['work', 'work2', 'outside'].map(name => join(world, name)) as [
    string,
    string,
    string,
  ]
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
    'to-secret-relative': '../outside/secret',
    'to-outside': outside,
    'to-outside-relative': '../outside',
    'to-outside-slash': `${outside}/`,
    'to-twin': twin,
    'to-world': world,
    'to-top': '/',
    'to-etc': '/etc',
    'to-passwd': '/etc/passwd',
    'to-nothing-outside': join(outside, NOWHERE),
    'to-nothing-relative': `../outside/${NOWHERE}`,
    'to-nothing-deep': join(outside, NOWHERE, 'deep'),
    'to-link': 'to-outside',
    'to-link-link': 'to-link',
    'to-link-file': 'to-link-link/secret',
    'to-itself': 'to-itself',
    'to-ring-a': 'to-ring-b',
    'to-ring-b': 'to-ring-a',
    'to-proc-root': '/proc/self/root',
    'to-proc-cwd': '/proc/self/cwd',
    'to-proc-file': `/proc/self/root${outside}/secret`,
    'to-fd': '/dev/fd/0',
    'to-null': '/dev/null',
    'to-zero': '/dev/zero',
    'to-stdin': '/dev/stdin',
    'to-dots': '../../../../../../../../../etc/passwd',
    'sub/up': '../../outside',
    'sub/up-file': '../../outside/secret',
    'sub/over': '../to-outside',
    'sub/over-file': '../to-outside/secret',
  }
  for (const [name, target] of Object.entries(links)) symlinkSync(target, join(root, name))
  linkSync(join(outside, 'secret'), join(root, 'hard'))
  linkSync(join(outside, 'deep', 'secret'), join(root, 'sub', 'hard'))
}

/** Paths that lead out, or to what is no file. */
export function pathsOf({ root, outside, twin, world }: World): string[] {
  const links = [...readdirSync(root), ...readdirSync(join(root, 'sub')).map(name => `sub/${name}`)].filter(
    name => lstatSync(join(root, name)).isSymbolicLink(),
  )
  const inside = links.map(name => join(root, name))
  const through = links.map(name => `${root}/${name}/secret`)
  const written = [
    `${root}/../outside/secret`,
    `${root}/../work2/secret`,
    `${root}/sub/../../outside/secret`,
    `${root}/./../outside/./secret`,
    `${root}//..//outside//secret`,
    `${root}/to-twin/../outside/secret`,
    `${root}/to-outside/../outside/secret`,
    `${root}/to-outside/../work2/secret`,
    `${root}/to-outside/deep/../secret`,
    `${root}/to-outside/../work/../outside/secret`,
    `${root}/sub/up/../work2/secret`,
    `${root}/${NOWHERE}/../../outside/secret`,
    `${root}/fine/../../outside/secret`,
    `${root}/fifo/../../outside/secret`,
    ...['..', '../..', '../../..', '../../../../../../../../../..'].map(up => `${root}/${up}`),
    `${root}/../../../../../../../../../../etc/passwd`,
    `${twin}/secret`,
    `${root}2/secret`,
    `${root}2`,
    `${root}2/`,
    `${root}2/sub/secret`,
    `${root} `,
    `${root}\u200b/secret`,
    `${root}/．．/outside/secret`,
    `${root}/..\u200b/outside/secret`,
    `${root}/%2e%2e/outside/secret`,
    `${root}/..%2foutside%2fsecret`,
    `${root}\\..\\outside\\secret`,
    `${root}/\ud800/../../outside/secret`,
    `${root}/fine\0`,
    `${root}/fine\0.txt`,
    `${root}\0/../outside/secret`,
    '\0',
    '',
    '.',
    '..',
    '/',
    '//',
    world,
    `${world}/`,
    outside,
    `${outside}/secret`,
    `${outside}/${NOWHERE}`,
    `//${outside}/secret`,
    `/proc/self/root${outside}/secret`,
    `/proc/self/root${root}/../outside/secret`,
    `/proc/self/root${root}/fine`,
    `/proc/self/root${root}/sub`,
    '/proc/self/environ',
    '/proc/self/fd/0',
    '/proc/self/cwd',
    '/proc/thread-self/root/etc/passwd',
    '/proc/1/root/etc/passwd',
    '/dev/fd/0',
    '/dev/null',
    '/dev/zero',
    '/dev/stdin',
    '/etc/passwd',
    'fine/../../outside/secret',
    '../outside/secret',
    'to-outside/secret',
    'to-secret',
    'sub/up-file',
    '~/secret',
    '~root/.profile',
    `file://${outside}/secret`,
    `file://${root}/fine`,
    `${root}/socket`,
    `${root}/fifo`,
    `${root}/sub/fifo`,
    `${root}/hard`,
    `${root}/sub/hard`,
    `${root}/sub/../hard`,
    `${root}/./hard`,
    `${root}/fine/`,
    `${root}/fine/.`,
    `${root}/fine/..`,
    `${root}/fine/x`,
    `${root}/${'x'.repeat(300)}/../../outside/secret`,
    `${root}/${'a/../'.repeat(2000)}../outside/secret`,
    `${root}/${'./'.repeat(1500)}../outside/secret`,
    `${root}${'/sub/..'.repeat(400)}/../outside/secret`,
    `${root}/${'x'.repeat(5000)}`,
  ]
  return [...written, ...inside, ...through]
}
