import { withBase } from 'vitepress';
import theme from 'vitepress/theme-without-fonts';
import { h } from 'vue';
import './style.css';

const picture = () =>
  h('div', { class: 'console' }, [
    h('img', {
      src: withBase('/console.png'),
      alt: 'The console on the practice stack: components with their states, the details of one, the ports of the machine, and a log',
      width: 1661,
      height: 926,
    }),
  ]);

export default { extends: theme, Layout: () => h(theme.Layout, null, { 'home-hero-after': picture }) };
