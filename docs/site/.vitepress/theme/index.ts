import { withBase } from 'vitepress';
import theme from 'vitepress/theme-without-fonts';
import { h } from 'vue';
import './style.css';

const picture = () =>
  h('div', { class: 'console' }, [
    h('img', {
      src: withBase('/tour.svg'),
      alt: 'A tour of the console on its practice stack: why a component is unhealthy, its log, ports, a deployment and a key for the mesh',
      width: 927,
      height: 548,
    }),
  ]);

export default { extends: theme, Layout: () => h(theme.Layout, null, { 'home-hero-after': picture }) };
