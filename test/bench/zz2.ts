import { Children } from './children.ts'
import { Configs } from './gateways.ts'
import { Pins } from './pin.ts'
import { soak } from './soak.ts'
const children = new Children()
const configs = new Configs()
const load = children.load()
const pins = new Pins(true)
pins.other(load.pid)
try {
  await soak(
    {
      children,
      load,
      configs,
      pins,
      launcher: process.cwd() + '/bin/run.js',
      nodeArgs: ['--expose-gc', '--import', '/tmp/exp/mem.mjs'],
    },
    540_000,
  )
} finally {
  await children.stop()
  configs.remove()
}
